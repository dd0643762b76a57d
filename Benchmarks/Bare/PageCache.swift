import BenchmarkSupport
import Glibc

/// What of a database the kernel holds in memory: the file and its write-ahead log.
enum PageCache {
    static func exists(_ file: String) -> Bool { access(file, F_OK) == 0 }

    /// Throws the file out of memory, as after a restart of the machine.
    static func drop(_ file: String) throws(OptionError) {
        try each(file) { number in
            // Pages that are not on the disk yet would stay.
            fdatasync(number)
            posix_fadvise(number, 0, 0, POSIX_FADV_DONTNEED)
        }
    }

    /// Reads all of it once.
    static func warm(_ file: String) throws(OptionError) {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        try each(file) { number in
            while read(number, &buffer, buffer.count) > 0 {}
        }
    }

    private static func each(_ file: String, _ body: (Int32) -> Void) throws(OptionError) {
        guard exists(file) else { throw OptionError("\(file) is not there") }
        for name in [file, file + "-wal"] {
            let number = open(name, O_RDONLY | O_CLOEXEC)
            // A store that was closed well has no log.
            guard number >= 0 else { continue }
            defer { close(number) }
            body(number)
        }
    }
}
