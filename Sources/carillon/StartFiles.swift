import Gateway
import Reactor
import TLS

/// Reads what the gateway starts with, after checking what an operator gets wrong: a file that is missing, one that
/// others may read, a certificate that has expired. Each gives one line that says what to do.
enum StartFiles {
    static func read(_ instance: Instance) throws(CommandError) -> InstanceFiles {
        try checkThere(instance)
        try checkPermissions(instance)
        try AdminTokenFiles(instance).check()
        try checkDates(of: instance.certificatePath, command: "renew")
        try checkDates(of: instance.authorityPath, command: "roll-over")
        let server = try instance.serverPair.read()
        let authority = try instance.authorityPair.read()
        return InstanceFiles(
            certificatePEM: server.certificatePEM,
            keyPEM: server.keyPEM,
            caCertificatePEM: authority.certificatePEM,
            caKeyPEM: authority.keyPEM,
            adminTokens: AdminTokenFiles(instance).read,
            storePath: instance.storePath,
            deliveryLogPath: instance.deliveryLogPath,
            seed: Files.exists(instance.seedPath) ? try Files.read(instance.seedPath) : nil
        )
    }

    private static func checkThere(_ instance: Instance) throws(CommandError) {
        let needed: [(path: String, setting: String)] = [
            (instance.certificatePath, "tls.certificate"), (instance.keyPath, "tls.key"),
            (instance.authorityPath, "tls.ca"), (instance.authorityKeyPath, "tls.ca, the key beside it"),
            (instance.adminTokenPath, "the admin token"),
        ]
        for file in needed where !Files.exists(file.path) {
            throw .failed(code: "missing_file", message: "\(file.path) is missing (\(file.setting))")
        }
        if instance.storePath != nil && !Files.exists(instance.dataDirectory) {
            let path = instance.dataDirectory
            throw .failed(code: "missing_file", message: "\(path) is missing (store); type: mkdir -m 700 \(path)")
        }
    }

    private static func checkPermissions(_ instance: Instance) throws(CommandError) {
        let problems = Permissions.problems(of: instance.secretPaths)
        guard problems.isEmpty else {
            throw .failed(code: "permissions", message: problems.joined(separator: "\n"))
        }
    }

    private static func checkDates(of path: String, command: String) throws(CommandError) {
        let certificate = try Self.certificate(Files.read(path), at: path)
        guard certificate.notAfter <= Clock.wall() / 1_000_000_000 else { return }
        let date = shownUTC(seconds: certificate.notAfter)
        let message = "the certificate in \(path) expired on \(date); type: carillon certificate \(command)"
        throw .failed(code: "certificate_expired", message: message)
    }

    /// The first certificate of a PEM file.
    static func certificate(_ pem: [UInt8], at path: String) throws(CommandError) -> Certificate {
        do throws(TLSError) {
            return try Certificate(pem: pem)
        } catch {
            throw .failed(code: "certificate", message: "\(path) holds no certificate: \(error)")
        }
    }
}
