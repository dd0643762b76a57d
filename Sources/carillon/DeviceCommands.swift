import Client
import Gateway
import JSON
import PushCore
import TLS

/// `carillon device enroll|renew|list|show|remove`: who may connect.
enum DeviceCommands {
    static let all: [Command] = [
        Command(
            name: "device enroll",
            summary: "make a device's key here and have the gateway sign its certificate",
            options: [
                .value("name", "N", "what to call it", required: true),
                .value("key-type", "T", "ec (default) or rsa"),
                .value("out", "DIR", "where its files go (default ./N)"),
            ] + CommandOption.adminAccess,
            example: "carillon device enroll --name kitchen",
            run: enroll
        ),
        Command(
            name: "device renew",
            summary: "get a new certificate for a device's key; its tokens and what waits for it stay",
            options: [.value("out", "DIR", "where its files are, as device enroll left them", required: true)]
                + CommandOption.adminAccess,
            example: "carillon device renew --out kitchen",
            run: renew
        ),
        Command(
            name: "device list",
            summary: "list the devices",
            options: CommandOption.adminAccess,
            example: "carillon device list",
            run: { invocation throws(CommandError) in try devices.run(invocation) }
        ),
        Command(
            name: "device show",
            summary: "show a device",
            arguments: ["ID"],
            options: CommandOption.adminAccess,
            example: "carillon device show 0123456789abcdef",
            run: show
        ),
        Command(
            name: "device remove",
            summary: "close a device's session, refuse its certificate, revoke its tokens",
            arguments: ["ID"],
            options: CommandOption.adminAccess,
            example: "carillon device remove 0123456789abcdef",
            run: remove
        ),
    ]

    private static let devices = ListCommand(
        path: "/v1/devices",
        columns: [
            ("ID", "id"), ("NAME", "name"), ("KEY", "keyType"), ("CONNECTED", "connected"), ("AWAKE", "awake"),
            ("LAST SEEN", "lastSeenAt"),
        ]
    )

    private static func enroll(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let name = invocation.required("name")
        let keyType = try invocation.choice("key-type", of: Device.KeyType.allCases.map(\.rawValue)) ?? "ec"
        guard invocation.has("out") || !name.contains("/") else {
            throw .usage("\(name) cannot name a folder; say --out DIR")
        }
        let directory = invocation.value("out") ?? name
        for file in Enrolment.fileNames where Files.exists(Files.join(directory, file)) {
            throw .failed(code: "exists", message: "\(Files.join(directory, file)) is there already; say --out DIR")
        }
        let gateway = try AdminGateway(invocation)
        let bits = try Instance.find(invocation)?.config.deviceMinimumRSABits ?? Config().deviceMinimumRSABits
        let key = try Enrolment.makeKey(rsaBits: keyType == "rsa" ? bits : nil)
        let enrolment = try Enrolment(name: name, key: key, gateway)
        let folder = try enrolment.write(to: directory)
        let text = "enrolled \(name) as \(enrolment.id); its key and certificate are in \(folder)"
        return report(enrolment, folder, invocation, text)
    }

    private static func report(
        _ enrolment: Enrolment,
        _ folder: String,
        _ invocation: Invocation,
        _ text: String
    ) -> Outcome {
        guard invocation.wantsJSON else {
            Output.line(text)
            return .done
        }
        Output.object { writer in
            writer.field("id", enrolment.id)
            writer.field("certificate", Files.join(folder, "device.pem"))
            writer.field("key", Files.join(folder, "device.key"))
            writer.field("ca", Files.join(folder, "ca.pem"))
        }
        return .done
    }

    private static func renew(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let directory = invocation.required("out")
        let keyPath = Files.join(directory, "device.key")
        let text = try Files.read(keyPath)
        let key: PrivateKey
        do throws(TLSError) {
            key = try PrivateKey(pem: text)
        } catch {
            throw .failed(code: "bad_key", message: "\(keyPath) holds no private key: \(error)")
        }
        let gateway = try AdminGateway(invocation)
        // A key that is not known would be enrolled as a new device: who asks for that says `enroll`.
        let id = DeviceID(keyDigest: Digest.sha256(key.publicKey.spki.span)).description
        let known = try gateway.parse(gateway.request("GET", "/v1/devices/\(id)"))
        let enrolment = try Enrolment(name: known["name"]?.string ?? id, key: key, gateway)
        let folder = try enrolment.replace(in: directory)
        return report(enrolment, folder, invocation, "renewed the certificate of \(enrolment.id) in \(folder)")
    }

    private static func show(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let gateway = try AdminGateway(invocation)
        let body = try gateway.request("GET", "/v1/devices/\(HTTPClient.escape(invocation.arguments[0]))")
        if invocation.wantsJSON {
            Output.json(body)
        } else {
            for line in lines(of: try gateway.parse(body)) { Output.line(line) }
        }
        return .done
    }

    private static func remove(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let id = invocation.arguments[0]
        let path = "/v1/devices/\(HTTPClient.escape(id))"
        return try delete(path, invocation, done: "removed device \(id) and revoked its tokens")
    }
}

/// A device that was just enrolled: its key never left this machine.
struct Enrolment {
    let id: String
    let key: PrivateKey
    let certificatePEM: [UInt8]
    let authorityPEM: [UInt8]

    static let fileNames = ["device.pem", "device.key", "ca.pem"]

    /// Makes a key: P-256 unless `rsaBits` is given.
    static func makeKey(rsaBits: Int?) throws(CommandError) -> PrivateKey {
        do throws(TLSError) {
            return if let rsaBits { try PrivateKey.rsa(bits: rsaBits) } else { try PrivateKey.p256() }
        } catch {
            throw .failed(code: "bad_key", message: "cannot make a key: \(error)")
        }
    }

    /// Has the gateway sign for a key. One that it knows keeps its device, under the name that is given.
    init(name: String, key: PrivateKey, _ gateway: AdminGateway) throws(CommandError) {
        self.key = key
        let request: [UInt8]
        do throws(TLSError) {
            request = try makeCertificateRequest(key: key, name: name)
        } catch {
            throw .failed(code: "certificate", message: "cannot make a certificate request: \(error)")
        }
        let body: JSONValue = .object([
            ("name", .string(name)), ("csr", .string(String(decoding: request, as: UTF8.self))),
        ])
        let answer = try gateway.parse(gateway.request("POST", "/v1/devices", body: body))
        guard let id = answer["id"]?.string, let certificate = answer["certificate"]?.string,
            let authority = answer["ca"]?.string
        else { throw .failed(code: "bad_answer", message: "\(gateway.url) answered no certificate") }
        self.id = id
        certificatePEM = Array(certificate.utf8)
        authorityPEM = Array(authority.utf8)
    }

    /// Writes the three files, private to their owner; returns the folder's absolute path.
    func write(to directory: String) throws(CommandError) -> String {
        if !Files.exists(directory) { try Files.createDirectory(directory) }
        let contents = [certificatePEM, key.pem, authorityPEM]
        for (name, bytes) in zip(Self.fileNames, contents) {
            try Files.create(Files.join(directory, name), bytes, mode: 0o600)
        }
        return Files.absolute(directory)
    }

    /// Writes what is new in the place of what was there; the key stays. Returns the folder's absolute path.
    func replace(in directory: String) throws(CommandError) -> String {
        // Whom to trust first: it names the old authority and the new one while both are there.
        try Files.replace(Files.join(directory, "ca.pem"), authorityPEM, mode: 0o600)
        try Files.replace(Files.join(directory, "device.pem"), certificatePEM, mode: 0o600)
        return Files.absolute(directory)
    }
}
