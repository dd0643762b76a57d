import PushCore
import Reactor
import TLS

/// The certificates in force. Any thread may ask; a reload replaces them.
final class Certificates: Sendable {
    /// What one reading of the files gave.
    struct InForce: Sendable {
        let server: Certificate
        /// Signs devices.
        let authority: CertificateAuthority
        /// Those whose devices are let in: the one that signs, and what it replaces.
        let authorities: [Certificate]

        /// Which of ours each certificate is, for metrics, log and status.
        var ends: [(name: StaticString, end: Moment)] {
            let retiring: [(StaticString, Moment)] = authorities.dropFirst().map {
                ("authority_retiring", Moment(seconds: $0.notAfter))
            }
            return [
                ("server", Moment(seconds: server.notAfter)),
                ("authority", Moment(seconds: authority.certificate.notAfter)),
            ] + retiring
        }
    }

    private let state: Locked<(inForce: InForce, watch: ExpiryWatch)>

    init(_ inForce: InForce) { state = Locked((inForce, ExpiryWatch())) }

    var current: InForce { state.withLock { $0.inForce } }

    func replace(_ inForce: InForce) { state.withLock { $0.inForce = inForce } }

    /// Warns of what ends soon, once for each step nearer to the end. Cheap enough for each sweep of a loop.
    func warn(at now: Moment, _ log: Log) {
        let due = state.withLock { state in state.watch.due(state.inForce.ends, at: now) }
        for notice in due {
            let end = timestamp(notice.end)
            if notice.days == 0 {
                log.error("a certificate has ended", LogField("name", notice.name), LogField("notAfter", end))
            } else {
                log.warning(
                    "a certificate ends soon",
                    LogField("name", notice.name),
                    LogField("days", notice.days),
                    LogField("notAfter", end)
                )
            }
        }
    }
}

/// Which certificates to warn of now: each 30, 14, 7 and 1 days before its end and at its end, once. A pure value.
struct ExpiryWatch {
    /// A warning that is due.
    struct Notice: Equatable {
        let name: String
        let end: Moment
        /// Whole days of the step that was passed; 0 when the end has come.
        let days: Int
    }

    private static let steps = [0, 1, 7, 14, 30]

    /// The last step that was told for each name, and of which end: a renewed certificate begins anew.
    private var told: [String: (end: Moment, days: Int)] = [:]

    /// What has come nearer to its end than it was when this was last asked.
    mutating func due(_ ends: [(name: StaticString, end: Moment)], at now: Moment) -> [Notice] {
        var due: [Notice] = []
        for (name, end) in ends {
            let name = "\(name)"
            guard let days = Self.steps.first(where: { end <= now + .days(Int64($0)) }) else { continue }
            if let last = told[name], last.end == end, last.days <= days { continue }
            told[name] = (end, days)
            due.append(Notice(name: name, end: end, days: days))
        }
        return due
    }
}

/// The number by which the store knows an authority: the first bytes of its key's digest, so that a certificate that
/// is made anew for the same key is the same authority.
func authorityNumber(_ certificate: Certificate) -> UInt64 {
    Digest.sha256(certificate.publicKey.spki.span).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
}
