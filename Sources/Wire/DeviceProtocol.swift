/// The names that both ends of the device protocol must agree on (docs/device-protocol.md, 1 and 3).
package enum DeviceProtocol {
    /// ALPN for Carillon's own form.
    package static let extended = "carillon-push/1"
    /// ALPN for the form that clients in the field speak.
    package static let plain = "apns-security-v3"
    /// What the TLS exporter is asked for, with an empty context.
    package static let exporterLabel = "EXPORTER-carillon-connect"
    /// Bytes that it exports.
    package static let exporterCount = 32
    /// What stands before the exported bytes and the nonce in what an extended device signs.
    package static let signatureContext = "carillon-connect"
}
