import Client
import Gateway
import JSON
import PushCore
import TLS

/// `carillon certificate ...`: what proves that the gateway is the gateway.
///
/// New certificates are made from the instance's files, where the authority's key lies, so that a gateway that does not
/// start any more, because they have ended, can get new ones too. A running one is told to take them.
enum CertificateCommands {
    static let all: [Command] = [
        Command(
            name: "certificate list",
            summary: "list the certificates in force, when they end, and who depends on them",
            options: CommandOption.adminAccess,
            example: "carillon certificate list",
            run: list
        ),
        Command(
            name: "certificate renew",
            summary: "make a new certificate and key for the server, and have the gateway take them",
            options: [.list("host", "NAME", "a name or address beside localhost (default: the names it has)")]
                + CommandOption.adminAccess,
            example: "carillon certificate renew --host push.example.com",
            run: alone(renew)
        ),
        Command(
            name: "certificate roll-over",
            summary: "begin to replace the authority: the new one signs, both are trusted",
            options: CommandOption.adminAccess,
            example: "carillon certificate roll-over",
            run: alone(rollOver)
        ),
        Command(
            name: "certificate finish-roll-over",
            summary: "trust the old authority no more, once no device depends on it",
            options: [.flag("force", "also while devices depend on it: they are shut out")]
                + CommandOption.adminAccess,
            example: "carillon certificate finish-roll-over",
            run: alone(finishRollOver)
        ),
    ]

    private static func list(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let gateway = try AdminGateway(invocation)
        guard !invocation.wantsJSON else {
            Output.json(try gateway.request("GET", "/v1/certificates"))
            return .done
        }
        let rows = try gateway.items("/v1/certificates").map { item in
            let days = item["secondsLeft"]?.double.map { "\(Int($0 / 86_400))" } ?? "-"
            let fields = ["devices", "firstDeviceNotAfter", "names"].map { item[$0].flatMap(text) ?? "-" }
            return [item["name"].flatMap(text) ?? "-", item["notAfter"].flatMap(text) ?? "-", days] + fields
        }
        Output.table(["NAME", "ENDS", "DAYS LEFT", "DEVICES", "FIRST OF THEM ENDS", "NAMES"], rows)
        return .done
    }

    /// Two of these at once would leave one's key with the other's certificate.
    private static func alone(
        _ body: @escaping @Sendable (Invocation) throws(CommandError) -> Outcome
    ) -> @Sendable (Invocation) throws(CommandError) -> Outcome {
        { (invocation: Invocation) throws(CommandError) -> Outcome in
            let instance = try Instance.require(invocation)
            return try Files.exclusively(instance.directory) { () throws(CommandError) in try body(invocation) }
        }
    }

    private static func renew(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let instance = try Instance.require(invocation)
        let hosts = invocation.all("host")
        let names = hosts.isEmpty ? try presentNames(instance) : Instance.localNames + hosts
        guard try instance.isServerCertificateOurs() else {
            let path = instance.certificatePath
            let message = "\(path) was not made by this instance's authority: renew it where it came from"
            throw .failed(code: "foreign", message: message)
        }
        let notAfter = try instance.makeServerCertificate(names: names)
        let text = "the server's certificate is good until \(shownUTC(seconds: notAfter))"
        return try report(invocation, text) { writer in
            writer.field("certificate", instance.certificatePath)
            writer.field("key", instance.keyPath)
            writer.field("notAfter", timestamp(Moment(seconds: notAfter)))
        }
    }

    private static func presentNames(_ instance: Instance) throws(CommandError) -> [String] {
        let path = instance.certificatePath
        guard Files.exists(path) else { return Instance.localNames }
        return try StartFiles.certificate(Files.read(path), at: path).names
    }

    private static func rollOver(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let instance = try Instance.require(invocation)
        guard try instance.authorities().count == 1 else {
            let message =
                "\(instance.authorityPath) holds two authorities already: carillon certificate finish-roll-over"
            throw .failed(code: "exists", message: message)
        }
        let names = try presentNames(instance)
        let isServerOurs = try instance.isServerCertificateOurs()
        let notAfter = try instance.makeSuccessor()
        if isServerOurs { _ = try instance.makeServerCertificate(names: names) }
        let text = """
            a new authority signs from now on, good until \(shownUTC(seconds: notAfter))
            give \(instance.authorityPath) to providers and devices, and renew the devices' certificates
            (carillon device renew); then: carillon certificate finish-roll-over
            """
        return try report(invocation, text) { writer in
            writer.field("ca", instance.authorityPath)
            writer.field("certificate", instance.certificatePath)
            writer.field("notAfter", timestamp(Moment(seconds: notAfter)))
        }
    }

    private static func finishRollOver(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let instance = try Instance.require(invocation)
        let authorities = try instance.authorities()
        guard authorities.count > 1 else {
            throw .failed(
                code: "not_found",
                message: "\(instance.authorityPath) holds one authority: nothing to finish"
            )
        }
        if !invocation.has("force") { try refuseDependents(AdminGateway(invocation)) }
        try instance.retire(keeping: authorities[0])
        return try report(invocation, "the old authority is trusted no more") { writer in
            writer.field("ca", instance.authorityPath)
            writer.field("notAfter", timestamp(Moment(seconds: authorities[0].notAfter)))
        }
    }

    private static func refuseDependents(_ gateway: AdminGateway) throws(CommandError) {
        let items = try gateway.items("/v1/certificates")
        let devices = items.first { $0["name"]?.string == "authority_retiring" }?["devices"]?.int ?? 0
        guard devices > 0 else { return }
        let who = devices == 1 ? "1 device has a certificate" : "\(devices) devices have certificates"
        let message = "\(who) of the old authority: renew them (carillon device renew), or say --force to shut them out"
        throw .failed(code: "in_use", message: message)
    }

    /// Has a running gateway take what was written, and says what came of it.
    private static func report(
        _ invocation: Invocation,
        _ text: String,
        _ fields: (inout JSONWriter) -> Void
    ) throws(CommandError) -> Outcome {
        var isReloaded = true
        do throws(CommandError) {
            _ = try AdminGateway(invocation).request("POST", "/v1/reload")
        } catch {
            // Without a gateway the next start takes them. One that refuses them has told why.
            guard error.code == "unreachable" || error.code == "unknown_port" else { throw error }
            isReloaded = false
            Output.note("carillon: no gateway was told (\(error.message))")
        }
        guard invocation.wantsJSON else {
            Output.line(text)
            return .done
        }
        Output.object { writer in
            fields(&writer)
            writer.field("reloaded", isReloaded)
        }
        return .done
    }
}
