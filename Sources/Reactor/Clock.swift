import CLinux

/// The clocks, in nanoseconds. Only the outermost loop reads them; everything inside takes the time as a value.
package enum Clock {
    /// Since 1970. It may jump.
    package static func wall() -> Int64 { read(CLOCK_REALTIME) }

    /// Since some moment before the process started. It never goes back.
    package static func monotonic() -> Int64 { read(CLOCK_MONOTONIC) }

    /// What the calling thread has used of a CPU.
    package static func threadCPU() -> Int64 { read(CLOCK_THREAD_CPUTIME_ID) }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
