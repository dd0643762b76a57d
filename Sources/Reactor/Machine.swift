import CLinux

/// What the machine and its administrator give to this process.
package enum Machine {
    /// CPUs this process may use: a container or `taskset` may allow fewer than there are.
    package static var cores: Int {
        let allowed = Int(carillon_allowed_cpus())
        // Above 1024 CPUs the call wants a larger set; then all of them are assumed to be ours.
        return max(1, allowed > 0 ? allowed : sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    }

    /// How many descriptors may be open: now, and after `raiseOpenFileLimit`.
    package static func openFileLimit() -> (soft: Int, hard: Int) {
        var limit = rlimit()
        // It cannot fail for this process and this resource.
        guard carillon_get_open_file_limit(&limit) == 0 else { return (0, 0) }
        return (Int(clamping: limit.rlim_cur), Int(clamping: limit.rlim_max))
    }

    /// Raises the soft limit to the hard one, which every process may. What it is then, `openFileLimit` tells.
    package static func raiseOpenFileLimit() {
        var limit = rlimit()
        guard carillon_get_open_file_limit(&limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = carillon_set_open_file_limit(&limit)
    }

    /// Whether a time service keeps the clock right; nil if the system does not say, as in some containers.
    package static var isClockSynchronised: Bool? {
        let answer = carillon_clock_is_synchronised()
        return answer < 0 ? nil : answer == 1
    }
}
