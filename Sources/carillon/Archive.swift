import PushCore
import TLS

/// A file in a tar archive (POSIX.1-1988, ustar), the form that every system can read without us.
struct ArchiveEntry: Equatable {
    /// Relative, without `..`.
    let name: String
    let size: Int
}

/// Writes a tar archive to a descriptor, with SHA-256 sums of all it holds in its last file, `SHA256SUMS`: an archive
/// that was cut off has none, and `sha256sum -c` understands it.
struct ArchiveWriter {
    private let descriptor: Int32
    private let path: String
    private let time: Int64
    private var sums = ""

    static let sumsName = "SHA256SUMS"

    /// `time` is when the files are said to have been written, in Unix seconds.
    init(to descriptor: Int32, path: String, time: Int64) {
        self.descriptor = descriptor
        self.path = path
        self.time = time
    }

    /// Adds a file that is in memory.
    mutating func add(_ name: String, _ bytes: [UInt8]) throws(CommandError) {
        let entry = ArchiveEntry(name: name, size: bytes.count)
        let digest = RunningDigest()
        digest.update(bytes.span)
        try write(header(of: entry) + bytes + padding(after: bytes.count))
        sums += "\(hexadecimal(digest.finish()))  \(name)\n"
    }

    /// Adds a file of any size from another descriptor, which is at its beginning and has `size` bytes.
    mutating func add(_ name: String, from source: Int32, size: Int) throws(CommandError) {
        try write(header(of: ArchiveEntry(name: name, size: size)))
        let digest = RunningDigest()
        var left = size
        while left > 0 {
            let part = try Files.readPart(source, limit: min(left, partLimit), name: name)
            guard !part.isEmpty else { throw .failed(code: "file", message: "\(name) became shorter") }
            digest.update(part.span)
            try write(part)
            left -= part.count
        }
        try write(padding(after: size))
        sums += "\(hexadecimal(digest.finish()))  \(name)\n"
    }

    /// Adds the sums and the end.
    mutating func finish() throws(CommandError) {
        let text = Array(sums.utf8)
        try write(header(of: ArchiveEntry(name: Self.sumsName, size: text.count)) + text + padding(after: text.count))
        try write([UInt8](repeating: 0, count: 2 * ArchiveHeader.blockCount))
    }

    private func write(_ bytes: [UInt8]) throws(CommandError) {
        try Files.write(bytes, to: descriptor, name: path)
    }

    private func header(of entry: ArchiveEntry) throws(CommandError) -> [UInt8] {
        guard entry.name.utf8.count <= ArchiveHeader.nameCount else {
            let message =
                "\(entry.name) has a name over \(ArchiveHeader.nameCount) bytes; a backup holds none: rename it"
            throw .failed(code: "file", message: message)
        }
        return ArchiveHeader.bytes(entry, time: time)
    }
}

/// Reads a tar archive that `ArchiveWriter` wrote, one file after the other.
struct ArchiveReader {
    private let descriptor: Int32
    private let path: String

    init(from descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    /// The next file, whose content is then to be read whole; nil at the end.
    func next() throws(CommandError) -> ArchiveEntry? {
        let block = try read(ArchiveHeader.blockCount)
        if block.allSatisfy({ $0 == 0 }) { return nil }
        guard let entry = ArchiveHeader.entry(block) else { throw damaged }
        return entry
    }

    /// Reads the content of a file part by part; returns its SHA-256.
    func content(_ entry: ArchiveEntry, _ body: ([UInt8]) throws(CommandError) -> Void) throws(CommandError) -> [UInt8]
    {
        let digest = RunningDigest()
        var left = entry.size
        while left > 0 {
            let part = try Files.readPart(descriptor, limit: min(left, partLimit), name: path)
            guard !part.isEmpty else { throw damaged }
            digest.update(part.span)
            try body(part)
            left -= part.count
        }
        _ = try read(padding(after: entry.size).count)
        return digest.finish()
    }

    /// Exactly so many bytes; an archive that ends before is refused.
    private func read(_ count: Int) throws(CommandError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let part = try Files.readPart(descriptor, limit: count - bytes.count, name: path)
            guard !part.isEmpty else { throw damaged }
            bytes += part
        }
        return bytes
    }

    var damaged: CommandError {
        .failed(code: "damaged", message: "\(path) is no backup of carillon, or it is damaged or cut off")
    }
}

/// The most of a file that is in memory at a time.
private let partLimit = 1 << 20

/// Files begin at multiples of a block.
private func padding(after size: Int) -> [UInt8] {
    let rest = size % ArchiveHeader.blockCount
    return [UInt8](repeating: 0, count: rest == 0 ? 0 : ArchiveHeader.blockCount - rest)
}

/// The block before each file.
enum ArchiveHeader {
    static let blockCount = 512
    static let nameCount = 100

    /// Where the fields stand that we use.
    private enum Field {
        static let name = 0..<nameCount
        static let mode = 100..<108
        static let owner = 108..<116
        static let group = 116..<124
        static let size = 124..<136
        static let time = 136..<148
        static let checksum = 148..<156
        static let type = 156
        static let magic = 257..<265
    }

    static func bytes(_ entry: ArchiveEntry, time: Int64) -> [UInt8] {
        var block = [UInt8](repeating: 0, count: blockCount)
        block.put(Array(entry.name.utf8), at: Field.name)
        block.put(octal(0o600, digits: 7), at: Field.mode)
        block.put(octal(0, digits: 7), at: Field.owner)
        block.put(octal(0, digits: 7), at: Field.group)
        block.put(size(entry.size), at: Field.size)
        block.put(octal(Int(time), digits: 11), at: Field.time)
        block[Field.type] = UInt8(ascii: "0")
        block.put(Array("ustar\0".utf8) + Array("00".utf8), at: Field.magic)
        block.put(octal(sum(block), digits: 6) + [0, UInt8(ascii: " ")], at: Field.checksum)
        return block
    }

    /// What a block says; nil if it is not one that we write.
    static func entry(_ block: [UInt8]) -> ArchiveEntry? {
        guard block.count == blockCount, block[Field.magic].prefix(5).elementsEqual("ustar".utf8),
            number(block[Field.checksum]) == sum(block), block[Field.type] == UInt8(ascii: "0")
        else { return nil }
        let name = String(decoding: block[Field.name].prefix { $0 != 0 }, as: UTF8.self)
        let isSafe = !name.isEmpty && Files.staysInside(name)
        guard isSafe, let size = fileSize(block[Field.size]) else { return nil }
        return ArchiveEntry(name: name, size: size)
    }

    /// The sum of all bytes, those of the sum itself taken as blanks.
    private static func sum(_ block: [UInt8]) -> Int {
        block.enumerated().reduce(0) { $0 + (Field.checksum.contains($1.offset) ? 0x20 : Int($1.element)) }
    }

    private static func octal(_ value: Int, digits: Int) -> [UInt8] {
        let text = String(value, radix: 8)
        return Array((String(repeating: "0", count: digits - text.utf8.count) + text).utf8)
    }

    /// In octal up to 8 GiB; beyond that in binary with the first bit set, as GNU tar and others do.
    private static func size(_ value: Int) -> [UInt8] {
        guard value >= 1 << 33 else { return octal(value, digits: 11) }
        return [0x80, 0, 0, 0] + (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) }
    }

    private static func fileSize(_ field: ArraySlice<UInt8>) -> Int? {
        guard field.first == 0x80 else { return number(field) }
        let value = field.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int(exactly: value)
    }

    private static func number(_ field: ArraySlice<UInt8>) -> Int? {
        let digits = field.prefix { $0 != 0 && $0 != UInt8(ascii: " ") }
        return Int(String(decoding: digits, as: UTF8.self), radix: 8).flatMap { $0 >= 0 ? $0 : nil }
    }
}

extension [UInt8] {
    fileprivate mutating func put(_ bytes: [UInt8], at field: Range<Int>) {
        replaceSubrange(field.lowerBound..<field.lowerBound + bytes.count, with: bytes)
    }
}
