import Glibc

/// Looks whether a write-ahead log is one that a crash leaves.
///
/// SQLite reads a log up to the first frame whose checksum is wrong, and takes that for the end: the right thing for a
/// transaction that a crash cut short, and the loss of everything behind it for a damaged disk. The two differ: only
/// the last transaction can be cut short, so behind a wrong frame there are never two more that fit together
/// (https://www.sqlite.org/fileformat2.html#walformat).
struct WriteAheadLog {
    static let headerCount = 32
    private static let frameHeaderCount = 24
    private static let magic: UInt32 = 0x377f_0682
    private static let version: UInt32 = 3_007_000
    private static let pageSizes: ClosedRange<UInt32> = 512...65536

    /// Bytes of a frame with its page.
    let frameCount: Int
    private let isBigEndian: Bool
    private let salt: [UInt8]
    /// The checksum that the frame before states; that of the header before the first.
    private var sum: Checksum
    /// Whether a frame was wrong.
    private var isBroken = false
    /// Transactions that ended since, one after the other.
    private var commitsBehind = 0

    /// nil if it is no header of a log.
    init?(header: [UInt8]) {
        guard header.count == Self.headerCount, number(header, 0) & ~1 == Self.magic, number(header, 4) == Self.version,
            Self.pageSizes.contains(number(header, 8))
        else { return nil }
        isBigEndian = number(header, 0) & 1 == 1
        frameCount = Self.frameHeaderCount + Int(number(header, 8))
        salt = Array(header[16..<24])
        sum = Checksum(first: number(header, 24), second: number(header, 28))
        var computed = Checksum()
        computed.add(header[..<24], isBigEndian: isBigEndian)
        guard computed == sum else { return nil }
    }

    /// Takes the next frame. False if that makes clear that an earlier one was damaged.
    mutating func isSound(_ frame: [UInt8]) -> Bool {
        let isOurs = frame[8..<16].elementsEqual(salt)
        var computed = sum
        computed.add(frame[..<8], isBigEndian: isBigEndian)
        computed.add(frame[Self.frameHeaderCount...], isBigEndian: isBigEndian)
        sum = Checksum(first: number(frame, 16), second: number(frame, 20))
        if !isOurs || computed != sum {
            isBroken = true
            commitsBehind = 0
        }
        // Of the last frame of a transaction only, it says how large the database is then.
        if isBroken, isOurs, number(frame, 4) != 0 { commitsBehind += 1 }
        return commitsBehind < 2
    }

    /// The salts of a log, which are others whenever it is begun anew; nil if it has none.
    static func generation(_ path: String) -> UInt64? {
        // To close a file ends all locks of the process on it. SQLite locks the database and its index, never the log.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var salts: UInt64 = 0
        return pread(descriptor, &salts, 8, 16) == 8 ? salts : nil
    }

    /// Reads the log at `path`, if there is one, and throws if it was damaged.
    static func check(_ path: String) throws(StoreError) {
        guard let file = fopen(path, "re") else { return }
        defer { fclose(file) }
        let header = read(file, headerCount)
        // Nothing was ever promised by a log whose header had not reached the disk.
        guard header.count == headerCount, header.contains(where: { $0 != 0 }) else { return }
        guard var log = WriteAheadLog(header: header) else { throw damaged("its header makes no sense", path) }
        var number = 0
        while true {
            let frame = read(file, log.frameCount)
            guard frame.count == log.frameCount else { return }
            number += 1
            if !log.isSound(frame) { throw damaged("it is damaged before frame \(number)", path) }
        }
    }

    private static func read(_ file: UnsafeMutablePointer<FILE>, _ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
            used = fread(buffer.baseAddress, 1, count, file)
        }
    }

    private static func damaged(_ what: String, _ path: String) -> StoreError {
        let remedy =
            "stop carillon, keep a copy of its folder, then restore a backup, or move this file away "
            + "and lose what was accepted last (docs/operations.md, 'A damaged store')"
        return StoreError(.damaged, what, file: path, remedy: remedy)
    }
}

/// The checksum of a log, each over all that is before it.
private struct Checksum: Equatable {
    var first: UInt32 = 0
    var second: UInt32 = 0

    /// Adds bytes, a multiple of eight.
    mutating func add(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) {
        bytes.withUnsafeBytes { bytes in
            for offset in stride(from: 0, to: bytes.count, by: 8) {
                let left = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                let right = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                first &+= (isBigEndian ? UInt32(bigEndian: left) : UInt32(littleEndian: left)) &+ second
                second &+= (isBigEndian ? UInt32(bigEndian: right) : UInt32(littleEndian: right)) &+ first
            }
        }
    }
}

/// The big-endian number at a place.
private func number(_ bytes: [UInt8], _ place: Int) -> UInt32 {
    bytes[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) }
}
