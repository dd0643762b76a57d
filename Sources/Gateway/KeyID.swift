import TLS

/// The ten capitals and digits that name a provider key. A team's id has the same form.
package enum KeyID {
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")

    /// An id that nobody can foresee.
    package static func random() -> String {
        // 252 is the largest multiple of 36 in a byte: taking more would favour some letters.
        let digits = SecureRandom.bytes(64).filter { $0 < 252 }.prefix(10).map { letters[Int($0) % 36] }
        return digits.count == 10 ? String(digits) : random()
    }

    /// Whether `text` has the form of an id.
    package static func isValid(_ text: String) -> Bool { text.count == 10 && text.allSatisfy(letters.contains) }
}
