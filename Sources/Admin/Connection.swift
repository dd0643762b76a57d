import CMicroHTTPD
import Glibc

/// A connection as libmicrohttpd lends it for one call.
struct Connection {
    let raw: OpaquePointer
    let method: String

    func header(_ name: String) -> String? {
        MHD_lookup_connection_value(raw, .HEADER_KIND, name).map { String(cString: $0) }
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
        if response.stream != nil || !response.body.isEmpty {
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
    guard let stream = response.stream else {
        return response.body.withUnsafeBytes {
            // The bytes are copied, in spite of the parameter's type.
            MHD_create_response_from_buffer($0.count, .init(mutating: $0.baseAddress), .RESPMEM_MUST_COPY)
        }
    }
    return EventBody(stream).response()
}
