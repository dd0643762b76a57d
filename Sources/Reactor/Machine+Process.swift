import CLinux
import Glibc

extension Machine {
    /// CPU seconds of another process, all its threads, user and system; nil if there is no such process. A thread that
    /// has ended no longer counts.
    package static func cpuSeconds(ofProcess id: Int32) -> Double? {
        let directory = "/proc/\(id)/task"
        guard let folder = opendir(directory) else { return nil }
        defer { closedir(folder) }
        var nanoseconds = 0
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            // `..` is the process itself, whose numbers are those of its first thread again.
            guard Int32(name) != nil else { continue }
            nanoseconds += runTime("\(directory)/\(name)/schedstat") ?? 0
        }
        return Double(nanoseconds) / 1e9
    }

    /// The first number of a schedstat: nanoseconds on a CPU, exact where /proc/PID/stat counts in ticks.
    private static func runTime(_ path: String) -> Int? {
        let number = open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return nil }
        let file = FileDescriptor(owning: number)
        var buffer = [UInt8](repeating: 0, count: 128)
        let count = read(file.number, &buffer, buffer.count)
        guard count > 0, let first = buffer[..<count].split(separator: UInt8(ascii: " ")).first else { return nil }
        return Int(String(decoding: first, as: UTF8.self))
    }
}
