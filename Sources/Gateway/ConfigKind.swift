package import PushCore

/// How one kind of setting is written, and its bounds. `expected` completes "must be ...".
package struct ConfigKind<Value: Sendable>: Sendable {
    /// What a value must be, as in "must be on or off".
    package var expected: String
    /// The smallest and largest value as text; nil when the kind has no order.
    package var bounds: (minimum: String, maximum: String)?
    /// What 0 means; nil when it is refused, or not a number.
    package var zero: String?
    /// Reads a value; nil when the text is not a good one.
    package var parse: @Sendable (String) -> Value?
    /// The value as it would be written.
    package var shown: @Sendable (Value) -> String

    /// The same kind with the word `auto` for nil.
    package var automatic: ConfigKind<Value?> {
        let (parse, shown) = (parse, shown)
        return ConfigKind<Value?>(
            expected: "\(expected), or auto",
            bounds: bounds,
            zero: zero,
            parse: { $0 == "auto" ? .some(nil) : parse($0).map { $0 } },
            shown: { $0.map(shown) ?? "auto" }
        )
    }
}

extension ConfigKind<String> {
    /// `*`, an address or a name.
    package static let host = ConfigKind(
        expected: "*, an address or a host name",
        parse: { $0.contains(where: \.isWhitespace) ? nil : $0 },
        shown: { $0 }
    )
    /// A file or folder, relative to the settings.
    package static let path = ConfigKind(expected: "a path", parse: { $0 }, shown: { $0 })
}

extension ConfigKind<Bool> {
    /// Yes or no.
    package static let flag = ConfigKind(
        expected: "on or off",
        parse: { ["on": true, "off": false][$0] },
        shown: { $0 ? "on" : "off" }
    )
}

extension ConfigKind<UInt16> {
    /// One port; 0 is a free one.
    package static let port = ConfigKind(
        expected: "a port from 0 to 65535",
        bounds: ("0", "65535"),
        zero: "a free port, named in the ready line",
        parse: { wholeNumber($0) },
        shown: { String($0) }
    )
}

extension ConfigKind<[UInt16]> {
    /// Ports with commas between them: each gets a listener, so there is a bound.
    package static let ports = ConfigKind(
        expected: "1 to 8 ports from 0 to 65535, such as 443, 2197",
        bounds: ("0", "65535"),
        zero: "a free port, named in the ready line",
        parse: { text in
            let parts = text.split(separator: ",", omittingEmptySubsequences: false)
            let ports = parts.compactMap { wholeNumber(trimmed(String($0))) as UInt16? }
            return ports.count == parts.count && ports.count <= 8 ? ports : nil
        },
        shown: { $0.map(String.init).joined(separator: ", ") }
    )
}

extension ConfigKind<StoreLocation> {
    /// Where the store lies.
    package static let store = ConfigKind(
        expected: "memory: or sqlite:PATH",
        parse: { text in
            if text == "memory:" { return .memory }
            guard text.hasPrefix("sqlite:"), text != "sqlite:" else { return nil }
            return .sqlite(String(text.dropFirst("sqlite:".count)))
        },
        shown: {
            switch $0 {
            case .memory: "memory:"
            case .sqlite(let path): "sqlite:\(path)"
            }
        }
    )
}

extension ConfigKind<Int> {
    /// A whole number within `range`; `zero` says what 0 means.
    package static func count(_ range: ClosedRange<Int>, zero: String? = nil) -> ConfigKind {
        ConfigKind(
            expected: "a whole number from \(range.lowerBound) to \(range.upperBound)",
            bounds: (String(range.lowerBound), String(range.upperBound)),
            zero: zero,
            parse: { wholeNumber($0).flatMap { range.contains($0) ? $0 : nil } },
            shown: { String($0) }
        )
    }
}

extension ConfigKind<Interval> {
    /// A length of time within `range`; `zero` says what 0 means.
    package static func duration(_ range: ClosedRange<Interval>, zero: String? = nil) -> ConfigKind {
        let bounds = (range.lowerBound.setting, range.upperBound.setting)
        return ConfigKind(
            expected: "a duration such as 250ms, 30s, 5m, 2h or 30d from \(bounds.0) to \(bounds.1)",
            bounds: bounds,
            zero: zero,
            parse: { Interval(setting: $0).flatMap { range.contains($0) ? $0 : nil } },
            shown: { $0.setting }
        )
    }
}

extension ConfigKind {
    /// One of an enum's words.
    package static func choice() -> ConfigKind
    where Value: RawRepresentable<String> & CaseIterable & SendableMetatype {
        ConfigKind(
            expected: Value.allCases.map(\.rawValue).joined(separator: " or "),
            parse: { Value(rawValue: $0) },
            shown: { $0.rawValue }
        )
    }
}

extension Interval {
    private static let units: [(suffix: String, nanoseconds: Int64)] = [
        ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
    ]

    /// Reads `250ms`, `30s`, `5m`, `2h`, `30d` or `0`; nil for anything else.
    package init?(setting text: String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let suffix = text.dropFirst(digits.count)
        guard let count = Int64(digits) else { return nil }
        if suffix.isEmpty && count == 0 {
            self = .zero
            return
        }
        guard let unit = Self.units.first(where: { $0.suffix == suffix }) else { return nil }
        let (product, overflow) = count.multipliedReportingOverflow(by: unit.nanoseconds)
        guard !overflow else { return nil }
        self.init(nanoseconds: product)
    }

    /// The shortest text that `init(setting:)` reads back, but seconds below two minutes: `60s` reads better than `1m`.
    package var setting: String {
        if nanoseconds == 0 { return "0s" }
        let small = nanoseconds < 120_000_000_000
        let units = Self.units.filter { !small || $0.nanoseconds <= 1_000_000_000 }
        let unit = units.last { nanoseconds % $0.nanoseconds == 0 } ?? units[0]
        return "\(nanoseconds / unit.nanoseconds)\(unit.suffix)"
    }
}

/// A number in plain digits: no sign, which `+443` has.
private func wholeNumber<Number: FixedWidthInteger>(_ text: String) -> Number? {
    text.utf8.allSatisfy { (48...57).contains($0) } ? Number(text) : nil
}

/// `text` without the blanks and line ends around it.
package func trimmed(_ text: String) -> String {
    let start = text.drop(while: \.isWhitespace)
    return String(start.reversed().drop(while: \.isWhitespace).reversed())
}
