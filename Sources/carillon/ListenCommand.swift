import Client
import Gateway
import JSON
import PushCore

/// `carillon device listen`: a device in a terminal.
enum ListenCommand {
    static let command = Command(
        name: "device listen",
        summary: "be a device in a terminal: print tokens and notifications as they come",
        options: [
            .value("certificate", "C", "the device's certificate, device.pem", required: true),
            .value("key", "K", "its key, device.key", required: true),
            .value("ca", "CA", "authority to trust, ca.pem", required: true),
            .list("topic", "X", "a topic to register", required: true),
            .value("device", "HOST:PORT", "the gateway (default: the instance's, else 127.0.0.1:5223)"),
            CommandOption.config,
        ],
        example:
            "carillon device listen --certificate device.pem --key device.key --ca ca.pem --topic com.example.demo",
        run: run
    )

    private static func run(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let (host, port) = try address(invocation)
        let configuration = CourierConfiguration(
            host: host,
            port: port,
            caPEM: try Files.read(invocation.required("ca")),
            identity: CourierIdentity(
                certificatePEM: try Files.read(invocation.required("certificate")),
                keyPEM: try Files.read(invocation.required("key"))
            ),
            topics: invocation.all("topic")
        )
        let client: CourierClient
        do throws(CourierError) {
            client = try CourierClient(configuration: configuration)
        } catch {
            throw .failed(code: "bad_key", message: "certificate, key or authority cannot be used: \(error)")
        }
        // A signal ends it: nothing is lost, for what was printed was acknowledged.
        client.run(until: { false }) { event in
            if invocation.wantsJSON { Output.object(event.write) } else { Output.line(event.text) }
        }
        return .done
    }

    private static func address(_ invocation: Invocation) throws(CommandError) -> (host: String, port: UInt16) {
        let address: String
        if let typed = invocation.value("device") {
            address = typed
        } else if let instance = try Instance.find(invocation) {
            address = try instance.deviceAddress()
        } else {
            address = "127.0.0.1:\(Config().devicePorts[0])"
        }
        guard let parts = hostAndPort(address) else { throw .usage("--device must be HOST:PORT, not \(address)") }
        return parts
    }
}

/// The parts of `host:port` or `[address]:port`; nil for anything else.
func hostAndPort(_ text: String) -> (host: String, port: UInt16)? {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port != 0 else {
        return nil
    }
    var host = text[..<colon]
    if host.hasPrefix("[") && host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    return host.isEmpty ? nil : (String(host), port)
}

extension CourierEvent {
    /// The event for programs, one object.
    func write(to writer: inout JSONWriter) {
        switch self {
        case .connected:
            writer.field("event", "connected")
        case .token(let topic, let token):
            writer.field("event", "token")
            writer.field("topic", topic)
            writer.field("token", token)
        case .refused(let topic, let reason):
            writer.field("event", "token")
            writer.field("topic", topic)
            writer.field("token", nil)
            writer.field("reason", reason)
        case .notification(let notification):
            writer.field("event", "notification")
            notification.write(to: &writer)
        case .disconnected(let reason, let retrySeconds):
            writer.field("event", "disconnected")
            writer.field("reason", reason)
            writer.field("retrySeconds", retrySeconds)
        }
    }

    /// The event for people, one line.
    var text: String {
        switch self {
        case .connected: "connected"
        case .token(let topic, let token): "token for \(topic): \(token)"
        case .refused(let topic, let reason): "no token for \(topic): \(reason)"
        case .notification(let notification): "notification for \(notification.topic): \(notification.payloadText)"
        case .disconnected(let reason, let seconds): "disconnected: \(reason); again in \(oneDecimal(seconds)) s"
        }
    }
}

extension CourierNotification {
    /// The payload as text, without what a terminal would obey.
    fileprivate var payloadText: String {
        let text = String(decoding: payload, as: UTF8.self)
        return String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 })
        )
    }

    fileprivate func write(to writer: inout JSONWriter) {
        writer.field("topic", topic)
        writer.field("token", token)
        writer.field("uniqueID", uniqueID)
        writer.field("messageID", messageID)
        writer.field("priority", Int(priority))
        writer.field("pushType", pushType)
        writer.field("collapseID", collapseID)
        writer.field("expiration", expiry)
        writer.field("timestamp", timestamp)
        writer.field("stored", storageFlags != 0)
        // A gateway with opaque payloads takes what is no JSON: that comes as base64, for its bytes matter.
        if let value = try? JSONValue(parsing: payload.span) {
            writer.field("payload", value)
        } else {
            writer.field("payload", nil)
            writer.field("payloadBase64", base64Encoded(payload))
        }
    }
}
