import CCurl

/// libcurl asks to be initialised once, before any thread uses it; a global's initialiser is run once.
private let initialised = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

extension HTTPClient {
    /// One easy handle of libcurl with its connections.
    final class Handle {
        let raw: UnsafeMutableRawPointer
        private let errorBuffer = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

        init() {
            guard initialised == CURLE_OK, let raw = curl_easy_init() else { fatalError("libcurl does not start") }
            self.raw = raw
            reset()
        }

        deinit {
            curl_easy_cleanup(raw)
            errorBuffer.deallocate()
        }

        /// Forgets every option and keeps the connections.
        func reset() {
            curl_easy_reset(raw)
            errorBuffer.pointee = 0
            CCurl_setPointer(raw, CURLOPT_ERRORBUFFER, errorBuffer)
        }

        // An option can only be refused for lack of memory or as unknown to this build, which tests would show.
        func set(_ option: CURLoption, _ value: Int) { CCurl_setLong(raw, option, value) }
        func set(_ option: CURLoption, _ value: String) { CCurl_setString(raw, option, value) }

        /// The method, and the body, which libcurl copies.
        func set(method: String, body: [UInt8]?) {
            if method == "HEAD" { set(CURLOPT_NOBODY, 1) }
            if let body {
                set(CURLOPT_POSTFIELDSIZE, body.count)
                // Never empty: with a nil pointer libcurl would read the body from standard input.
                _ = (body + [0]).withUnsafeBytes {
                    CCurl_setPointer(raw, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: $0.baseAddress))
                }
            }
            set(CURLOPT_CUSTOMREQUEST, method)
        }

        func number(_ info: CURLINFO) -> Int {
            var value = 0
            CCurl_getLong(raw, info, &value)
            return value
        }

        /// What libcurl says of its last failure; often empty.
        var errorText: String { String(cString: errorBuffer) }
    }

    /// Request headers as libcurl takes them.
    final class HeaderList {
        private(set) var first: UnsafeMutablePointer<curl_slist>?

        init(_ headers: [(String, String)], hasBody: Bool) throws(HTTPFailure) {
            for (name, value) in headers {
                guard !(name + value).utf8.contains(where: { $0 == 0x0A || $0 == 0x0D || $0 == 0 }) else {
                    throw HTTPFailure(.invalidRequest, "the header \(name) holds a line break")
                }
                // libcurl's way to write an empty header; "name:" would remove it.
                add(value.isEmpty ? "\(name);" : "\(name): \(value)")
            }
            // libcurl adds these by itself unless told not to.
            add("Expect:")
            if hasBody, !headers.contains(where: { $0.0.lowercased() == "content-type" }) { add("Content-Type:") }
        }

        deinit { curl_slist_free_all(first) }

        private func add(_ line: String) {
            guard let longer = curl_slist_append(first, line) else { fatalError("out of memory") }
            first = longer
        }
    }

    /// A transfer that is advanced step by step.
    final class Multi {
        private let raw: UnsafeMutableRawPointer
        private let handle: Handle
        /// How the transfer ended; nil while it runs.
        private(set) var result: CURLcode?

        init(_ handle: Handle) {
            guard let raw = curl_multi_init() else { fatalError("out of memory") }
            self.raw = raw
            self.handle = handle
            curl_multi_add_handle(raw, handle.raw)
        }

        deinit {
            curl_multi_remove_handle(raw, handle.raw)
            curl_multi_cleanup(raw)
        }

        /// Waits for at most a second and takes in what has come.
        func step() {
            var running: CInt = 0
            curl_multi_poll(raw, nil, 0, 1000, nil)
            curl_multi_perform(raw, &running)
            var left: CInt = 0
            guard let message = curl_multi_info_read(raw, &left), message.pointee.msg == CURLMSG_DONE else { return }
            result = message.pointee.data.result
        }
    }
}
