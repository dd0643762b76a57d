import Client
import Gateway
import Glibc
import JSON
import PushCore
import Reactor
import TLS

/// The doctor's last check: a device of its own, a push of its own, through both wires as anyone's would go.
struct PushCheck {
    private let instance: Instance
    private let gateway: AdminGateway
    private let target: PushTarget

    private var topic: String { target.topic }

    /// A push takes milliseconds; a device that has to be made, connected and registered gets this long in all.
    private static let patienceNanoseconds: Int64 = 15_000_000_000

    /// What came of looking for the gateway and of the push through it.
    static func run(_ invocation: Invocation, _ instance: Instance) -> [Finding] {
        let gateway: AdminGateway
        let apps: [JSONValue]
        let keys: [JSONValue]
        do throws(CommandError) {
            gateway = try AdminGateway(invocation)
            _ = try gateway.request("GET", "/v1/status")
            (apps, keys) = (try gateway.items("/v1/apps"), try gateway.items("/v1/keys"))
        } catch {
            return [
                .failed("gateway", error.message, fix: "carillon serve --config \(instance.configPath)"),
                .skipped("push", "no gateway to send it through"),
            ]
        }
        let found = Finding.ok("gateway", "it answers at \(gateway.url)")
        guard let target = PushTarget(apps: apps, keys: keys, instance) else {
            return [found, .skipped("push", "no app whose team has a key in \(instance.keysDirectory)")]
        }
        guard instance.config.providerPorts.first != 0, instance.config.devicePorts.first != 0 else {
            return [found, .skipped("push", "provider.port or device.port is 0, so the settings do not say where")]
        }
        let check = PushCheck(instance: instance, gateway: gateway, target: target)
        return [found, check.push()]
    }

    /// Makes a device, pushes to it, and removes it again whatever happened.
    private func push() -> Finding {
        let name = "doctor-\(hexadecimal(SecureRandom.bytes(4)))"
        let enrolment: Enrolment
        do throws(CommandError) {
            enrolment = try Enrolment(name: name, key: Enrolment.makeKey(rsaBits: nil), gateway)
        } catch {
            return .failed("push", "cannot enrol a device: \(error.message)", fix: "read the gateway's log")
        }
        let finding: Finding
        do throws(CommandError) {
            finding = try delivered(to: enrolment)
        } catch {
            finding = .failed("push", error.message, fix: "read the gateway's log, or carillon log --topic \(topic)")
        }
        do throws(CommandError) {
            _ = try gateway.request("DELETE", "/v1/devices/\(HTTPClient.escape(enrolment.id))")
        } catch {
            let fix = "carillon device remove \(enrolment.id)"
            return .warning("push", "\(finding.message); \(name) was not removed: \(error.message)", fix: fix)
        }
        return finding
    }

    /// Is the device until the push has come: each step is a line of `journey`, so that a failure tells how far it got.
    private func delivered(to enrolment: Enrolment) throws(CommandError) -> Finding {
        let courier = try courier(for: enrolment)
        let provider = ProviderClient(
            url: try instance.providerURL(),
            ca: instance.authorityPath,
            signToken: target.signer.signed
        )
        let mark = hexadecimal(SecureRandom.bytes(8))
        let deadline = Clock.monotonic() + Self.patienceNanoseconds
        var journey = Journey.connecting
        courier.run(until: { journey.isOver || Clock.monotonic() > deadline }) { event in
            switch event {
            case .connected: journey = .registering
            case .token(_, let token): journey = send(to: token, mark: mark, with: provider)
            case .refused(_, let reason): journey = .failed("the gateway gives no token for \(topic): \(reason)")
            case .notification(let notification):
                guard case .sent(let start) = journey, notification.payload == payload(mark) else { return }
                journey = .arrived(afterNanoseconds: Clock.monotonic() - start)
            case .disconnected(let reason, _): journey = .failed("the device's connection ended: \(reason)")
            }
        }
        return try journey.finding(topic: topic)
    }

    private func courier(for enrolment: Enrolment) throws(CommandError) -> CourierClient {
        guard let (host, port) = hostAndPort(try instance.deviceAddress()) else {
            throw .failed(code: "config", message: "device.host is no address to connect to")
        }
        let identity = CourierIdentity(certificatePEM: enrolment.certificatePEM, keyPEM: enrolment.key.pem)
        do throws(CourierError) {
            return try CourierClient(
                configuration: CourierConfiguration(
                    host: host,
                    port: port,
                    caPEM: enrolment.authorityPEM,
                    identity: identity,
                    topics: [topic]
                )
            )
        } catch {
            throw .failed(code: "bad_key", message: "the enrolled certificate cannot be used: \(error)")
        }
    }

    private func send(to token: String, mark: String, with provider: ProviderClient) -> Journey {
        let start = Clock.monotonic()
        var push = OutgoingPush(token: token, topic: topic, payload: payload(mark))
        push.pushType = "alert"
        push.expiration = "0"
        do throws(HTTPFailure) {
            let answer = try provider.push(push)
            guard answer.status == 200 else {
                return .failed("the gateway refused the push: \(answer.status) \(answer.message)")
            }
            return .sent(atNanoseconds: start)
        } catch {
            return .failed("the push was not answered: \(error.description)")
        }
    }

    private func payload(_ mark: String) -> [UInt8] {
        JSONValue.object([("aps", .object([("alert", .string("carillon doctor"))])), ("mark", .string(mark))]).encoded
    }
}

/// How far the doctor's push has come.
private enum Journey {
    case connecting
    case registering
    case sent(atNanoseconds: Int64)
    case arrived(afterNanoseconds: Int64)
    case failed(String)

    var isOver: Bool {
        switch self {
        case .connecting, .registering, .sent: false
        case .arrived, .failed: true
        }
    }

    /// What is to be told when it is over, or took too long.
    func finding(topic: String) throws(CommandError) -> Finding {
        switch self {
        case .arrived(let nanoseconds):
            return .ok("push", "a push to \(topic) arrived after \(oneDecimal(Double(nanoseconds) / 1e6)) ms")
        case .failed(let message): throw .failed(code: "push", message: message)
        case .connecting: throw .failed(code: "push", message: "the device could not connect in time")
        case .registering: throw .failed(code: "push", message: "the gateway gave the device no token in time")
        case .sent: throw .failed(code: "push", message: "the push was accepted and did not arrive in time")
        }
    }
}
