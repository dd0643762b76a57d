import CLinux
import Glibc

/// What this process uses now, from /proc and getrusage.
package struct MachineUsage: Sendable {
    /// Memory that is in use.
    package let residentBytes: Int
    /// Descriptors that are open.
    package let openDescriptors: Int
    /// User and system time of all threads.
    package let cpuSeconds: Double
}

extension Machine {
    /// Values the kernel does not tell are 0.
    package static func usage() -> MachineUsage {
        MachineUsage(residentBytes: residentBytes(), openDescriptors: openDescriptors(), cpuSeconds: cpuSeconds())
    }

    private static func residentBytes() -> Int {
        let number = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return 0 }
        let file = FileDescriptor(owning: number)
        var buffer = [UInt8](repeating: 0, count: 128)
        let count = read(file.number, &buffer, buffer.count)
        guard count > 0 else { return 0 }
        // Size, then resident pages, separated by spaces.
        let fields = buffer[..<count].split(separator: UInt8(ascii: " "))
        guard fields.count > 1, let pages = Int(String(decoding: fields[1], as: UTF8.self)) else { return 0 }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }

    private static func openDescriptors() -> Int {
        guard let folder = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // Without ".", ".." and the folder itself.
        return max(0, count - 3)
    }

    private static func cpuSeconds() -> Double {
        var usage = rusage()
        guard getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 else { return 0 }
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
}
