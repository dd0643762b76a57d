import CMicroHTTPD

/// One request on its way in, from its first line until its answer has gone. It belongs to its connection's thread.
final class Exchange {
    private let target: String
    private var hasHeaders = false
    private var body: [UInt8] = []
    private var excess = 0

    private init(target: String) { self.target = target }

    /// How much of a body without declared length is read and dropped so that its sender sees why it is refused.
    private static let maximumExcess = 4 << 20

    /// The functions that libmicrohttpd calls. It owns each exchange from `begin` to `end`.
    static func callbacks(context: UnsafeMutableRawPointer) -> CMicroHTTPD_callbacks {
        CMicroHTTPD_callbacks(
            begin: { _, uri, _ in
                Unmanaged.passRetained(Exchange(target: uri.map { String(cString: $0) } ?? "/")).toOpaque()
            },
            receive: { context, connection, _, method, _, bytes, count, exchange in
                guard let context, let connection, let method, let count, let exchange = exchange?.pointee else {
                    return .NO
                }
                let part = UnsafeRawBufferPointer(start: bytes, count: count.pointee)
                count.pointee = 0
                return Unmanaged<Exchange>.fromOpaque(exchange).takeUnretainedValue().receive(
                    part,
                    on: Connection(raw: connection, method: String(cString: method)),
                    for: Unmanaged<Service>.fromOpaque(context).takeUnretainedValue()
                )
            },
            end: { context, connection, exchange, _ in
                guard let context, let connection, let exchange = exchange?.pointee else { return }
                Unmanaged<Service>.fromOpaque(context).takeUnretainedValue().connections.release(connection)
                Unmanaged<Exchange>.fromOpaque(exchange).release()
            },
            connect: { context, connection, _, event in
                guard let context, let connection else { return }
                let table = Unmanaged<Service>.fromOpaque(context).takeUnretainedValue().connections
                if event == .CONNECTION_NOTIFY_STARTED {
                    table.began(connection, descriptor: CMicroHTTPD_descriptor(connection))
                } else {
                    table.ended(connection)
                }
            },
            context: context
        )
    }

    /// Called once with the headers, then with each part of the body, then once more with nothing.
    private func receive(_ part: UnsafeRawBufferPointer, on connection: Connection, for service: Service) -> MHD_Result
    {
        guard hasHeaders else {
            hasHeaders = true
            guard let refusal = connection.head.refusal else { return .YES }
            return connection.send(refusal)
        }
        guard part.isEmpty else { return take(part) }
        service.connections.asked(connection.raw)
        guard excess == 0 else { return connection.send(Service.tooLarge) }
        let answer = service.answer(request(from: connection))
        guard let stream = answer.stream, !service.connections.hold(connection.raw) else {
            return connection.send(answer)
        }
        stream.cancel()
        return connection.send(Service.tooManyFollow)
    }

    /// Keeps a part of the body; NO closes the connection.
    private func take(_ part: UnsafeRawBufferPointer) -> MHD_Result {
        if excess == 0, body.count + part.count <= Service.maximumBody {
            body.append(contentsOf: part)
            return .YES
        }
        body = []
        excess += part.count
        return excess <= Self.maximumExcess ? .YES : .NO
    }

    private func request(from connection: Connection) -> AdminRequest {
        var request = AdminRequest(method: connection.method, target: target, body: body)
        request.authorization = connection.secretHeader("Authorization")
        request.host = connection.header("Host")
        request.origin = connection.header("Origin")
        request.fetchSite = connection.header("Sec-Fetch-Site")
        request.contentType = connection.header("Content-Type")
        request.peerIsLoopback = connection.peerIsLoopback
        return request
    }
}
