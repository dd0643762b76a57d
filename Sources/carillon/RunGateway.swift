import Gateway

/// What the gateway reads from files at its start.
struct InstanceFiles: Sendable {
    let certificatePEM: [UInt8]
    let keyPEM: [UInt8]
    let caCertificatePEM: [UInt8]
    let caKeyPEM: [UInt8]
    let adminToken: String
    let storePath: String?
    let deliveryLogPath: String?
    let seed: [UInt8]?
}

/// Starts the gateway, says when it listens, and runs it until it has drained.
func runGateway(_ request: ServeRequest) throws(CommandError) -> Outcome {
    throw .failed(code: "no_gateway", message: "this build has no gateway yet")
}
