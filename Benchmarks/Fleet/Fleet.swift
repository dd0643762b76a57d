import Client
import Glibc
import JSON

/// Many connected devices in one process, for benchmarks: enrols them, connects them, acknowledges what comes.
///
/// Usage: `fleet ADMIN-URL DEVICE-HOST DEVICE-PORT TOPIC COUNT TOKENS-FILE`, with the admin token in
/// `CARILLON_ADMIN_TOKEN`. Writes the devices' tokens, one per line, prints `ready`, runs until its standard input
/// ends, then prints how many notifications came.
@main
enum Fleet {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static func main() {
        do {
            try run(CommandLine.arguments)
        } catch {
            write("fleet: \(error)\n", to: STDERR_FILENO)
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) throws {
        guard arguments.count == 7, let port = UInt16(arguments[3]), let count = Int(arguments[5]) else {
            throw Failure(description: "see the comment on top of Fleet.swift for its arguments")
        }
        let (identities, caPEM) = try enroll(count, at: arguments[1])
        let settings = CourierFleetConfiguration(host: arguments[2], port: port, caPEM: caPEM, topic: arguments[4])
        let fleet = try CourierFleet(configuration: settings, identities: identities)
        guard try fleet.connect(timeoutSeconds: 60) else {
            throw Failure(description: "only \(fleet.readyCount) of \(count) devices connected in a minute")
        }
        try save(fleet.tokens, to: arguments[6])
        write("ready\n", to: STDOUT_FILENO)
        try fleet.run(until: inputHasEnded)
        write("notifications \(fleet.notificationCount), lost connections \(fleet.failureCount)\n", to: STDOUT_FILENO)
    }

    private static func enroll(_ count: Int, at admin: String) throws -> ([CourierIdentity], caPEM: [UInt8]) {
        let token = getenv("CARILLON_ADMIN_TOKEN").map { String(cString: $0) } ?? ""
        let client = HTTPClient(ca: nil, timeoutMilliseconds: 10_000)
        var identities: [CourierIdentity] = []
        var caPEM: [UInt8] = []
        for number in 1...count {
            let body = JSONValue.object([("name", .string("fleet-\(number)")), ("keyType", .string("ec"))]).encoded
            let headers = [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")]
            let reply = try client.request("POST", "\(admin)/v1/devices", headers: headers, body: body)
            let device = try JSONValue(parsing: reply.body.span)
            guard let certificate = device["certificate"]?.string, let key = device["privateKey"]?.string else {
                throw Failure(description: "no device was made: \(String(decoding: reply.body, as: UTF8.self))")
            }
            caPEM = Array((device["ca"]?.string ?? "").utf8)
            identities.append(CourierIdentity(certificatePEM: Array(certificate.utf8), keyPEM: Array(key.utf8)))
        }
        return (identities, caPEM)
    }

    private static func save(_ tokens: [String], to path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        guard file >= 0 else { throw Failure(description: "cannot write \(path)") }
        defer { close(file) }
        write(tokens.joined(separator: "\n") + "\n", to: file)
    }

    private static func inputHasEnded() -> Bool {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        return poll(&input, 1, 0) > 0
    }

    private static func write(_ text: String, to file: Int32) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(file, bytes, bytes.count)
    }
}
