package import PushCore

/// What makes a Connect good once: when its device says that it was made, and a random number.
package struct ConnectNonce: Equatable, Sendable {
    /// By the device's clock.
    package let made: Moment
    package let random: UInt64

    /// How many bytes it has: a tag of 0, Unix milliseconds, eight random bytes (docs/device-protocol.md).
    package static let count = 17

    package init(made: Moment, random: UInt64) { (self.made, self.random) = (made, random) }

    /// nil unless the count and the tag are right.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.count, bytes[0] == 0 else { return nil }
        let milliseconds = bytes[1...8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        random = bytes[9...].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // A later time overflows a Moment; this one is as far out of tolerance.
        made = Moment(milliseconds: Int64(min(milliseconds, UInt64(Int64.max / 1_000_000))))
    }

    /// As it stands in the Connect.
    package var bytes: [UInt8] {
        let words = [UInt64(max(made.milliseconds, 0)), random]
        return [0] + words.flatMap { word in (1...8).map { UInt8(truncatingIfNeeded: word >> UInt64(64 - 8 * $0)) } }
    }
}
