import Glibc

/// Points in time as people read them.
enum UTC {
    /// `2026-11-30 02:38:00 UTC`.
    static func text(seconds: Int64) -> String {
        var (time, parts) = (time_t(seconds), tm())
        guard gmtime_r(&time, &parts) != nil else { return "\(seconds) seconds after 1970" }
        let date = [Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday)].map(twoDigits)
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { twoDigits(Int($0)) }
        return "\(date.joined(separator: "-")) \(clock.joined(separator: ":")) UTC"
    }

    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : String(number) }
}
