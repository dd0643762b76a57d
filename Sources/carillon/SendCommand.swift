import Client
import Gateway
import JSON
import PushCore
import Reactor
import TLS

/// `carillon send`: a provider in a terminal.
enum SendCommand {
    static let command = Command(
        name: "send",
        summary: "send a push and say what the gateway answered",
        options: [
            .value("topic", "X", "the app's topic", required: true),
            .value("token", "D", "the device token", required: true),
            .value("alert", "TEXT", "a payload that shows this text"),
            .value("payload", "P", "the payload: JSON, @FILE, or - for standard input"),
            .value("push-type", "P", "alert, background, voip, ..."),
            .value("priority", "N", "10 at once, 5 may wait, 1 when awake"),
            .value("expiration", "WHEN", "0, Unix seconds, or +90s, +2h, +3d"),
            .value("collapse-id", "C", "takes the place of a waiting push with this id"),
            .value("provider", "URL", "the gateway (default: the instance's)"),
            .value("ca", "F", "authority to trust (default: the instance's)"),
            .value("key", "F", "signing key (default: the only keys/*.p8)"),
            .value("key-id", "K", "its id (default: from its file name)"),
            .value("team", "T", "who signs (default: the key's team)"),
            CommandOption.config,
        ],
        example: "carillon send --topic com.example.demo --token 5f0a... --alert 'Tea is ready' --expiration +2h",
        run: run
    )

    private static func run(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let push = try push(from: invocation)
        let instance = try Instance.find(invocation)
        let signer = try ProviderKeyChoice.signer(invocation, instance)
        let client = ProviderClient(
            url: try providerURL(invocation, instance),
            ca: invocation.value("ca") ?? instance?.authorityPath,
            signToken: signer.signed
        )
        let answer: PushAnswer
        do throws(HTTPFailure) {
            answer = try client.push(push)
        } catch {
            throw .failed(code: error.kind == .unreachable ? "unreachable" : "no_answer", message: error.description)
        }
        show(answer, json: invocation.wantsJSON)
        return answer.status == 200 ? .done : .failed
    }

    private static func push(from invocation: Invocation) throws(CommandError) -> OutgoingPush {
        let token = invocation.required("token")
        guard !token.isEmpty, !token.contains(where: { $0 == "/" || $0.isWhitespace }) else {
            throw .usage("--token is a device token, hexadecimal digits")
        }
        var push = OutgoingPush(token: token, topic: invocation.required("topic"), payload: try payload(invocation))
        push.pushType = invocation.value("push-type")
        push.priority = try invocation.number("priority", in: 0...99).map(String.init)
        push.expiration = try expiration(invocation).map(String.init)
        push.collapseID = invocation.value("collapse-id")
        return push
    }

    /// Sent as it is, also when it is not JSON: what the gateway says to that is what one wants to see.
    private static func payload(_ invocation: Invocation) throws(CommandError) -> [UInt8] {
        switch (invocation.value("alert"), invocation.value("payload")) {
        case (let alert?, nil):
            return JSONValue.object([("aps", .object([("alert", .string(alert))]))]).encoded
        case (nil, "-"):
            return try Files.readStandardInput()
        case (nil, let payload?):
            guard payload.hasPrefix("@") else { return Array(payload.utf8) }
            return try Files.read(String(payload.dropFirst()), mayBePipe: true)
        case (nil, nil):
            throw .usage("say what to send: --alert TEXT or --payload JSON")
        case (.some, .some):
            throw .usage("--alert makes the payload, so --payload cannot be given too")
        }
    }

    private static func expiration(_ invocation: Invocation) throws(CommandError) -> Int64? {
        guard let text = invocation.value("expiration") else { return nil }
        guard let seconds = Expiration.seconds(text, now: Clock.wall() / 1_000_000_000) else {
            throw .usage("--expiration is 0, Unix seconds, or a time from now such as +90s, +2h, +3d; not \(text)")
        }
        return seconds
    }

    private static func providerURL(
        _ invocation: Invocation,
        _ instance: Instance?
    ) throws(CommandError) -> String {
        if let url = invocation.value("provider") { return url }
        guard let instance else { throw .usage("say --provider URL, or --config FILE of an instance") }
        return try instance.providerURL()
    }

    private static func show(_ answer: PushAnswer, json: Bool) {
        guard !json else {
            return Output.object { writer in
                writer.field("status", answer.status)
                writer.field("apnsID", answer.apnsID)
                writer.field("uniqueID", answer.uniqueID)
                writer.field("reason", answer.reason)
                writer.field("timestamp", answer.timestamp)
                writer.field("message", answer.message)
            }
        }
        let reason = answer.reason.map { " \($0)" } ?? ""
        Output.line("\(answer.status)\(reason): \(answer.message)")
        if let id = answer.apnsID { Output.line("apns-id         \(id)") }
        if let id = answer.uniqueID { Output.line("apns-unique-id  \(id)") }
    }
}

extension Instance {
    /// Where a provider on this machine connects.
    func providerURL() throws(CommandError) -> String {
        guard let port = config.providerPorts.first, port != 0 else {
            throw .usage("provider.port is 0: say --provider URL as in the gateway's ready line")
        }
        return "https://\(reachable(host: config.providerHost, port: port))"
    }

    /// Where a device on this machine connects.
    func deviceAddress() throws(CommandError) -> String {
        guard let port = config.devicePorts.first, port != 0 else {
            throw .usage("device.port is 0: say --device HOST:PORT as in the gateway's ready line")
        }
        return reachable(host: config.deviceHost, port: port)
    }
}
