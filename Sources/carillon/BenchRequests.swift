import Client
import Gateway
import PushCore
import Reactor
import TLS

/// `carillon bench requests`: the provider wire alone.
enum BenchRequests {
    private static let randomTokens = 200

    static func run(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let options = try BenchOptions(invocation)
        let status = try invocation.number("status", in: 100...599) ?? 200
        let tokens = try tokens(invocation)
        let (destination, target, caPEM) = try server(invocation, tokens, options)
        let load = try measured { () throws(LoadError) in
            let load = try PushLoad(target, shape: options.shape)
            try load.connect(to: destination, caPEM: caPEM)
            if options.warmUp > 0 { _ = try load.run(count: options.warmUp) }
            return load
        }
        let result = try measured { () throws(LoadError) in
            try load.run(count: options.count, server: options.server)
        }
        load.close()
        BenchReport(load: "requests", result: result).show(json: invocation.wantsJSON)
        return result.statuses == [status: options.count] ? .done : .failed
    }

    private static func server(
        _ invocation: Invocation,
        _ tokens: [String],
        _ options: BenchOptions
    ) throws(CommandError) -> (Destination, LoadTarget, caPEM: [UInt8]?) {
        let (host, port): (String, UInt16)
        let (topic, signer, caPEM): (String, ProviderToken, [UInt8]?)
        if let address = invocation.value("to") {
            guard let parts = hostAndPort(address) else { throw .usage("--to must be HOST:PORT, not \(address)") }
            (host, port) = parts
            (topic, signer) = try sender(invocation)
            caPEM = nil
        } else {
            let gateway = try BenchGateway(invocation)
            (host, port) = try gateway.provider()
            (topic, signer, caPEM) = (gateway.target.topic, gateway.target.signer, try gateway.authorityPEM)
        }
        let target = LoadTarget(
            authority: reachable(host: host, port: port),
            tokens: tokens,
            topic: topic,
            authorization: try signer.authorization(),
            payloadSize: options.payloadSize
        )
        return (try destination(host, port), target, caPEM)
    }

    /// Who sends to a server that may be no gateway: the instance's key if one was named, else anyone of the same form.
    private static func sender(_ invocation: Invocation) throws(CommandError) -> (String, ProviderToken) {
        guard invocation.has("config") else {
            do throws(TLSError) {
                let key = try PrivateKey.p256()
                return ("com.example.demo", ProviderToken(keyID: "BENCHBENCH", team: "BENCHTEAM0", key: key))
            } catch {
                throw .failed(code: "key", message: error.description)
            }
        }
        let target = try BenchGateway(invocation).target
        return (target.topic, target.signer)
    }

    private static func tokens(_ invocation: Invocation) throws(CommandError) -> [String] {
        guard let path = invocation.value("tokens") else {
            return (0..<randomTokens).map { _ in hexadecimal(SecureRandom.bytes(32)) }
        }
        let tokens = try Files.readText(path).split(whereSeparator: \.isNewline).map { trimmed(String($0)) }
            .filter { !$0.isEmpty }
        guard !tokens.isEmpty else { throw .usage("\(path) holds no token; one per line") }
        guard tokens.allSatisfy({ $0.utf8.allSatisfy { $0 > 32 && $0 < 127 } }) else {
            throw .usage("\(path) holds what is no token; hexadecimal digits, one per line")
        }
        return tokens
    }
}

extension ProviderToken {
    /// The whole `authorization` of a push.
    func authorization() throws(CommandError) -> String {
        do throws(TLSError) {
            return "bearer \(try signed())"
        } catch {
            throw .failed(code: "bad_key", message: "the provider token cannot be signed: \(error)")
        }
    }
}
