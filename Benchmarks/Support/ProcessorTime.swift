import Glibc

/// CPU time as the kernel's scheduler counts it: in nanoseconds, not in ticks.
package enum ProcessorTime {
    /// What all threads of all `processes` have used since they started. Time of threads that have ended is not in it,
    /// so a server that ends threads during a measurement looks cheaper than it is.
    package static func nanoseconds(of processes: [Int]) throws(OptionError) -> Int64 {
        var sum: Int64 = 0
        for process in processes {
            guard let folder = opendir("/proc/\(process)/task") else {
                throw OptionError("there is no process \(process)")
            }
            defer { closedir(folder) }
            while let entry = readdir(folder) {
                guard let thread = Int(name(of: entry)) else { continue }
                sum += used("/proc/\(process)/task/\(thread)/schedstat")
            }
        }
        return sum
    }

    /// What this thread has used.
    package static func ofThisThread() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private static func name(of entry: UnsafeMutablePointer<dirent>) -> String {
        withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    /// A thread that has just ended has no file, and used nothing more.
    private static func used(_ path: String) -> Int64 {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return 0 }
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: 128)
        let count = read(file, &buffer, buffer.count)
        guard count > 0 else { return 0 }
        // Time on a CPU, time waiting for one, number of turns.
        let first = buffer[..<count].split(separator: UInt8(ascii: " ")).first
        return first.flatMap { Int64(String(decoding: $0, as: UTF8.self)) } ?? 0
    }
}
