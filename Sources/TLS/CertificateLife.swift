/// The certificates that we make, and how long each is good. docs/operations.md prints this table.
package enum CertificateLife: String, CaseIterable, Sendable {
    case authority
    case server
    case device

    /// Days from its making to its end; none is good for longer than what signed it.
    package var days: Int {
        switch self {
        case .authority: 3650
        case .server: 825
        case .device: 730
        }
    }

    /// Why not more, and why not less.
    package var reason: String {
        switch self {
        case .authority:
            "To replace it takes months, until every device has a new certificate; ten years outlive most hardware."
        case .server: "The longest that Apple's systems take from a private authority; a renewal disturbs nobody."
        case .device: "Long enough for a device in a drawer, short enough that a lost one ends by itself."
        }
    }
}
