import Gateway
import PushCore

/// Until when a push is good, as typed: `0`, Unix seconds, or `+90s`, `+2h`, `+3d` from now.
enum Expiration {
    /// Seconds after 1970; nil when `text` says nothing of the kind.
    static func seconds(_ text: String, now: Int64) -> Int64? {
        guard text.hasPrefix("+") else { return text.allSatisfy(\.isNumber) ? Int64(text) : nil }
        guard let interval = Interval(setting: String(text.dropFirst())) else { return nil }
        return now + interval.milliseconds / 1000
    }
}
