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
        /// Enrolled devices whose certificates it has signed and that have not ended; nil for what signs none.
        let devices: Int?
    }

    func respond(_ request: AdminRequest) throws(AdminFailure) -> AdminResponse {
        let inForce = control.certificates.current
        let counts = try countDevices(current: authorityNumber(inForce.authority.certificate))
        var items = [Item(name: "server", certificate: inForce.server, devices: nil)]
        for (place, authority) in inForce.authorities.enumerated() {
            // Whatever was not signed by the present authority was signed by the one before it.
            let isOnly = inForce.authorities.count == 1
            let devices = place == 0 ? counts.current + (isOnly ? counts.others : 0) : counts.others
            let name = place == 0 ? "authority" : "authority_retiring"
            items.append(Item(name: name, certificate: authority, devices: devices))
        }
        return try ListPage(request).response(items.sorted { $0.name < $1.name }, key: \.name, write: write)
    }

    /// Devices whose certificates are good, by who signed them.
    private func countDevices(current: UInt64) throws(AdminFailure) -> (current: Int, others: Int) {
        let now = control.now
        let counts = try control.ask { loop -> (current: Int, others: Int) in
            var counts = (current: 0, others: 0)
            for case let record? in loop.home.devices.values.lazy.map(\.record)
            where record.removedAt == nil && record.certificateNotAfter > now {
                if record.signer == current { counts.current += 1 } else { counts.others += 1 }
            }
            return counts
        }
        return counts.reduce((0, 0)) { ($0.0 + $1.current, $0.1 + $1.others) }
    }

    private func write(_ item: Item, _ writer: inout JSONWriter) {
        let certificate = item.certificate
        writer.field("name", item.name)
        writer.field("subject", certificate.subject)
        writer.field("names", JSONValue.array(certificate.names.map(JSONValue.string)))
        writer.field("notBefore", timestamp(Moment(seconds: certificate.notBefore)))
        writer.field("notAfter", timestamp(Moment(seconds: certificate.notAfter)))
        writer.field("secondsLeft", (Moment(seconds: certificate.notAfter) - control.now).fractionalSeconds)
        writer.field("devices", item.devices)
    }
}
