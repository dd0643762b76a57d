import Admin
import JSON
import PushCore
import TLS

/// `/v1/certificates`: what is in force, when it ends, and how many devices depend on it.
struct CertificateRoutes {
    private let control: Control

    init(_ control: Control) { self.control = control }

    /// One certificate of the list.
    private struct Item {
        let name: String
        let certificate: Certificate
        /// The devices that depend on it; nil for what signs none.
        let devices: Dependents?
    }

    /// Enrolled devices whose certificates one authority has signed and that have not ended.
    private struct Dependents: Sendable {
        var count = 0
        /// When the first of their certificates ends.
        var firstEnd: Moment?

        mutating func add(_ count: Int, firstEnd end: Moment?) {
            self.count += count
            if let end { firstEnd = min(end, firstEnd ?? end) }
        }

        mutating func add(_ others: Dependents) { add(others.count, firstEnd: others.firstEnd) }
    }

    func respond(_ request: AdminRequest) throws(AdminFailure) -> AdminResponse {
        let inForce = control.certificates.current
        var (own, others) = try dependents(of: authorityNumber(inForce.authority.certificate))
        // Whatever was not signed by the present authority was signed by the one before it, if that is still there.
        if inForce.authorities.count == 1 { own.add(others) }
        var items = [Item(name: "server", certificate: inForce.server, devices: nil)]
        for (place, authority) in inForce.authorities.enumerated() {
            let name = place == 0 ? "authority" : "authority_retiring"
            items.append(Item(name: name, certificate: authority, devices: place == 0 ? own : others))
        }
        return try ListPage(request).response(items.sorted { $0.name < $1.name }, key: \.name, write: write)
    }

    /// The devices of the authority with that number, and all others.
    private func dependents(of number: UInt64) throws(AdminFailure) -> (own: Dependents, others: Dependents) {
        let now = control.now
        let found = try control.ask { loop -> (own: Dependents, others: Dependents) in
            var found = (own: Dependents(), others: Dependents())
            for case let record? in loop.home.devices.values.lazy.map(\.record)
            where record.removedAt == nil && record.certificateNotAfter > now {
                let end = record.certificateNotAfter
                if record.signer == number {
                    found.own.add(1, firstEnd: end)
                } else {
                    found.others.add(1, firstEnd: end)
                }
            }
            return found
        }
        var sum = (own: Dependents(), others: Dependents())
        for part in found {
            sum.own.add(part.own)
            sum.others.add(part.others)
        }
        return sum
    }

    private func write(_ item: Item, _ writer: inout JSONWriter) {
        let certificate = item.certificate
        writer.field("name", item.name)
        writer.field("subject", certificate.subject)
        writer.field("names", JSONValue.array(certificate.names.map(JSONValue.string)))
        writer.field("notBefore", timestamp(Moment(seconds: certificate.notBefore)))
        writer.field("notAfter", timestamp(Moment(seconds: certificate.notAfter)))
        writer.field("secondsLeft", (Moment(seconds: certificate.notAfter) - control.now).fractionalSeconds)
        writer.field("devices", item.devices?.count)
        writer.field("firstDeviceNotAfter", item.devices?.firstEnd.map(timestamp))
    }
}
