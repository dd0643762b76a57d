import CMicroHTTPD
import Glibc

/// A connection as libmicrohttpd lends it for one call.
struct Connection {
    let raw: OpaquePointer
    let method: String

    func header(_ name: String) -> String? {
        MHD_lookup_connection_value(raw, .HEADER_KIND, name).map { String(cString: $0) }
    }

    /// A header that leaves no trace.
    func secretHeader(_ name: String) -> SecretBytes? {
        MHD_lookup_connection_value(raw, .HEADER_KIND, name).map { SecretBytes(copying: $0) }
    }

    /// What the request's first lines say of the rest.
    var head: MessageHead {
        MessageHead(
            method: method,
            // Refused as too large: it is, or it is no number.
            length: header("Content-Length").map { Int($0) ?? .max },
            encoding: header("Transfer-Encoding"),
            fields: fields
        )
    }

    private var fields: HeaderFields {
        var fields = HeaderFields()
        let each: MHD_KeyValueIteratorN = { context, _, name, nameCount, value, valueCount in
            context?.assumingMemoryBound(to: HeaderFields.self).pointee.add(
                UnsafeRawBufferPointer(start: name, count: nameCount),
                UnsafeRawBufferPointer(start: value, count: valueCount)
            )
            return .YES
        }
        withUnsafeMutablePointer(to: &fields) { _ = MHD_get_connection_values_n(raw, .HEADER_KIND, each, $0) }
        return fields
    }

    /// Whether the peer's address is 127.0.0.0/8 or ::1, however written.
    var peerIsLoopback: Bool {
        guard let address = CMicroHTTPD_peer(raw) else { return false }
        switch CInt(address.pointee.sa_family) {
        case AF_INET:
            return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                $0.pointee.sin_addr.s_addr.bigEndian >> 24 == 127
            }
        case AF_INET6:
            return address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                withUnsafeBytes(of: $0.pointee.sin6_addr) { isLoopback($0) }
            }
        default: return false
        }
    }

    /// Queues the answer; NO closes the connection.
    func send(_ response: AdminResponse) -> MHD_Result {
        guard let answer = make(response) else { return .NO }
        defer { MHD_destroy_response(answer) }
        if response.stream != nil || response.secretBody != nil || !response.body.isEmpty {
            MHD_add_response_header(answer, "Content-Type", response.contentType)
        }
        for header in response.headers { MHD_add_response_header(answer, header.name, header.value) }
        return MHD_queue_response(raw, UInt32(response.status), answer)
    }
}

/// IPv6: ::1, or 127.x.x.x mapped into it.
private func isLoopback(_ address: UnsafeRawBufferPointer) -> Bool {
    let isMapped = address.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
    return isMapped ? address[12] == 127 : address.dropLast().allSatisfy { $0 == 0 } && address[15] == 1
}

private func make(_ response: AdminResponse) -> OpaquePointer? {
    if let stream = response.stream { return EventBody(stream).response() }
    return (response.secretBody ?? SecretBytes(copying: response.body)).response()
}
