import CCurl

/// A client for HTTP over libcurl. It keeps its connections and belongs to one thread.
package final class HTTPClient {
    /// Whether anything but HTTP/2, chosen by ALPN, is a failure.
    package var http2Only = false

    private let handle = Handle()
    private let ca: String?
    private let timeoutMilliseconds: Int

    /// `ca` is the path of the PEM file of those trusted in place of the system's.
    package init(ca: String?, timeoutMilliseconds: Int) {
        self.ca = ca
        self.timeoutMilliseconds = timeoutMilliseconds
    }

    /// Sends one request and waits for the whole answer. Redirects are answers like others.
    package func request(
        _ method: String,
        _ url: String,
        headers: [(String, String)],
        body: [UInt8]?
    ) throws(HTTPFailure) -> HTTPReply {
        let transfer = Transfer(maximumSize: 16 << 20)
        let fields = try HeaderList(headers, hasBody: body != nil)
        prepare(handle, url, fields, transfer)
        handle.set(CURLOPT_TIMEOUT_MS, timeoutMilliseconds)
        handle.set(method: method, body: body)

        let code = curl_easy_perform(handle.raw)
        // The list, the transfer and the body are lent to libcurl until here.
        withExtendedLifetime((fields, transfer)) {}
        guard code == CURLE_OK else { throw failure(code, url, handle, transfer) }
        if http2Only, handle.number(CURLINFO_HTTP_VERSION) != CURL_HTTP_VERSION_2_0 {
            throw HTTPFailure(.protocol, "\(url): the server does not speak HTTP/2")
        }
        return HTTPReply(
            status: handle.number(CURLINFO_RESPONSE_CODE),
            headers: transfer.headers,
            body: transfer.takeBody()
        )
    }

    /// Reads an answer line by line until it ends or `onLine` says false. A status other than 200 is a failure, and so
    /// is half a minute without a byte.
    package func stream(
        _ url: String,
        headers: [(String, String)],
        onLine: (String) -> Bool
    ) throws(HTTPFailure) {
        // A handle of its own, so that lines are handed out between libcurl's calls, never inside one.
        let stream = Handle()
        let transfer = Transfer(maximumSize: 1 << 20)
        let fields = try HeaderList(headers, hasBody: false)
        prepare(stream, url, fields, transfer)
        stream.set(CURLOPT_LOW_SPEED_LIMIT, 1)
        stream.set(CURLOPT_LOW_SPEED_TIME, 30)

        let multi = Multi(stream)
        // The list and the transfer are lent to libcurl while the multi handle lives.
        defer { withExtendedLifetime((fields, transfer, multi)) {} }
        repeat {
            multi.step()
            guard stream.number(CURLINFO_RESPONSE_CODE) == 200 else { continue }
            for line in transfer.takeLines(atEnd: multi.result != nil) {
                guard onLine(line) else { return }
            }
        } while multi.result == nil

        if let code = multi.result, code != CURLE_OK { throw failure(code, url, stream, transfer) }
        let status = stream.number(CURLINFO_RESPONSE_CODE)
        guard status == 200 else {
            throw HTTPFailure(.status(status), String(decoding: transfer.takeBody(), as: UTF8.self))
        }
    }

    /// `text` with every byte escaped that may not stand in a path segment or in a field of a query.
    package static func escape(_ text: String) -> String {
        var escaped = ""
        for byte in text.utf8 {
            let character = Character(UnicodeScalar(byte))
            if byte < 0x80, character.isLetter || character.isNumber || "-._~".contains(character) {
                escaped.append(character)
            } else {
                escaped += (byte < 0x10 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return escaped
    }

    /// What every request has in common.
    private func prepare(_ handle: Handle, _ url: String, _ headers: HeaderList, _ transfer: Transfer) {
        handle.reset()
        handle.set(CURLOPT_URL, url)
        handle.set(CURLOPT_PROTOCOLS_STR, "http,https")
        // Escapes and dots in a path are the caller's affair.
        handle.set(CURLOPT_PATH_AS_IS, 1)
        // The gateway is near; a proxy of the environment would break loopback.
        handle.set(CURLOPT_PROXY, "")
        handle.set(CURLOPT_CONNECTTIMEOUT_MS, timeoutMilliseconds)
        // Without it libcurl would use SIGALRM and leave SIGPIPE to us.
        handle.set(CURLOPT_NOSIGNAL, 1)
        if let ca { handle.set(CURLOPT_CAINFO, ca) }
        let version = http2Only ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1
        handle.set(CURLOPT_HTTP_VERSION, version)
        CCurl_setPointer(handle.raw, CURLOPT_HTTPHEADER, headers.first)
        transfer.install(on: handle)
    }
}

/// A whole answer.
package struct HTTPReply: Sendable {
    /// The HTTP status.
    package let status: Int
    /// Every header, in the order in which they came.
    package let headers: [(String, String)]
    /// The whole body.
    package let body: [UInt8]

    /// The first header of that name, in whatever case it came.
    package func header(_ name: String) -> String? {
        headers.first { $0.0.lowercased() == name.lowercased() }?.1
    }
}

private func failure(
    _ code: CURLcode,
    _ url: String,
    _ handle: HTTPClient.Handle,
    _ transfer: HTTPClient.Transfer
) -> HTTPFailure {
    guard !transfer.isTooLarge else { return HTTPFailure(.protocol, "\(url): the answer is too large") }
    return HTTPFailure(code: code, url: url, detail: handle.errorText)
}
