import Gateway
import Glibc
import JSON
import PushCore
import TLS

/// `carillon init`: makes an instance.
enum InitCommand {
    static let command = Command(
        name: "init",
        summary: "make an instance: settings, certificates, admin token, a demo app and its key",
        options: [
            .value("directory", "D", "where; made if it is not there", required: true),
            .value("environment", "E", "development (default) or production"),
            .value("provider-port", "N", "where providers connect (default 8443); 0 picks a free port at each start"),
            .value("channels-port", "N", "channel management (default 2195, in production 2196)"),
            .value("device-port", "N", "where devices connect (default 5223)"),
            .value("admin-port", "N", "admin API on 127.0.0.1 (default 8090)"),
            .list("host", "NAME", "another name or address for the server's certificate"),
        ],
        example: "carillon init --directory instance --host push.example.com",
        run: run
    )

    private static func run(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let settings = try settings(from: invocation)
        let typed = invocation.required("directory")
        try refuseOccupied(typed)
        let material = try Material(hosts: invocation.all("host"))
        if !Files.exists(typed) { try Files.createDirectory(typed) }
        let directory = Files.absolute(typed)
        try write(material, settings: settings, to: directory)

        let config: Config
        do throws(ConfigError) {
            config = try Config.load(fileText: Config.fileText(values: settings))
        } catch {
            preconditionFailure("the settings we write are good")
        }
        let report = InitReport(directory: directory, config: config, material: material)
        if invocation.wantsJSON { Output.object(report.write) } else { Output.line(report.text) }
        return .done
    }

    /// What the command line sets, by key of the settings file.
    private static func settings(from invocation: Invocation) throws(CommandError) -> [String: String] {
        var settings: [String: String] = [:]
        settings["environment"] = try invocation.choice("environment", of: Environment.allCases.map(\.rawValue))
        for door in ["provider", "channels", "device", "admin"] {
            settings["\(door).port"] = try invocation.number("\(door)-port", in: 0...65_535).map(String.init)
        }
        return settings
    }

    /// Refuses a folder that holds an instance, or a part of one.
    static func refuseOccupied(_ directory: String) throws(CommandError) {
        for name in ["carillon.conf", "admin.token"] + Instance.folders {
            let path = Files.join(directory, name)
            guard Files.exists(path) else { continue }
            throw .failed(code: "exists", message: "\(directory) already holds an instance: \(path) is there")
        }
    }

    /// The settings come last: with them the instance is whole.
    private static func write(
        _ material: Material,
        settings: [String: String],
        to directory: String
    ) throws(CommandError) {
        for name in Instance.folders { try Files.createDirectory(Files.join(directory, name)) }
        let secrets: [(name: String, bytes: [UInt8])] = [
            ("pki/ca.pem", material.authority.certificatePEM),
            ("pki/ca.key", material.authority.keyPEM),
            ("pki/server.pem", material.server.certificatePEM),
            ("pki/server.key", material.server.keyPEM),
            ("admin.token", AdminTokenFiles.text(material.adminToken)),
            ("keys/AuthKey_\(material.keyID).p8", material.providerKeyPEM),
            ("data/seed.json", material.seed),
        ]
        for file in secrets { try Files.create(Files.join(directory, file.name), file.bytes, mode: 0o600) }
        let text = Config.fileText(values: settings)
        try Files.create(Files.join(directory, "carillon.conf"), Array(text.utf8), mode: 0o644)
    }
}

/// What a new instance and its demo are made of.
private struct Material {
    static let (team, bundle) = ("DEMOTEAM01", "com.example.demo")

    let authority: (certificatePEM: [UInt8], keyPEM: [UInt8])
    let server: (certificatePEM: [UInt8], keyPEM: [UInt8])
    let adminToken = AdminTokenFiles.makeToken()
    let keyID = KeyID.random()
    let providerKeyPEM: [UInt8]
    /// What the first start puts into the store, for only `serve` opens it.
    let seed: [UInt8]

    init(hosts: [String]) throws(CommandError) {
        do throws(TLSError) {
            authority = try CertificateAuthority.make(
                name: "Carillon CA",
                days: CertificateLife.authority.days
            )
            let signer = try CertificateAuthority(certificatePEM: authority.certificatePEM, keyPEM: authority.keyPEM)
            let names = Instance.localNames + hosts
            server = try signer.issueServer(names: names, days: CertificateLife.server.days)
            let key = try PrivateKey.p256()
            providerKeyPEM = key.pem
            seed = Self.seed(keyID: keyID, publicKeyPEM: key.publicKey.pem)
        } catch {
            throw .failed(code: "certificate", message: "cannot make certificates: \(error)")
        }
    }

    private static func seed(keyID: String, publicKeyPEM: [UInt8]) -> [UInt8] {
        let app: JSONValue = .object([
            ("bundle", .string(bundle)), ("team", .string(team)), ("broadcast", .bool(true)),
        ])
        let key: JSONValue = .object([
            ("keyID", .string(keyID)), ("team", .string(team)), ("environment", .string("all")),
            ("topics", .array([])), ("publicKey", .string(String(decoding: publicKeyPEM, as: UTF8.self))),
        ])
        return JSONValue.object([("apps", .array([app])), ("keys", .array([key]))]).encoded
    }
}

/// What `init` prints.
private struct InitReport {
    let directory: String
    let config: Config
    let material: Material

    private var keyPath: String { "\(directory)/keys/AuthKey_\(material.keyID).p8" }
    private var provider: String { "https://127.0.0.1:\(config.providerPorts[0])" }
    private var channels: String { "https://127.0.0.1:\(config.effectiveChannelsPort)" }
    private var device: String { "127.0.0.1:\(config.devicePorts[0])" }
    private var admin: String { "http://127.0.0.1:\(config.adminPort)" }

    func write(to writer: inout JSONWriter) {
        writer.field("config", "\(directory)/carillon.conf")
        writer.field("ca", "\(directory)/pki/ca.pem")
        writer.field("team", Material.team)
        writer.field("topic", Material.bundle)
        writer.field("keyID", material.keyID)
        writer.field("key", keyPath)
        writer.field("provider", provider)
        writer.field("channels", channels)
        writer.field("device", device)
        writer.field("admin", admin)
        writer.field("adminToken", material.adminToken)
    }

    var text: String {
        """
        Made an instance in \(directory).

          settings    \(directory)/carillon.conf
          authority   \(directory)/pki/ca.pem (clients trust this file)
          demo app    \(Material.bundle) of team \(Material.team)
          demo key    \(keyPath)
          providers   \(provider)
          channels    \(channels)
          devices     \(device)
          admin       \(admin), token in \(directory)/admin.token

        Start it: carillon serve --config \(directory)/carillon.conf
        """
    }
}
