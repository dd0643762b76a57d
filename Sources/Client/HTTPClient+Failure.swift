import CCurl

/// Why there is no answer.
package struct HTTPFailure: Error, Equatable, CustomStringConvertible {
    /// What programs may tell apart.
    package enum Kind: Equatable, Sendable {
        /// No such host, or nobody listens there.
        case unreachable
        /// The server's certificate is not trusted, or the two have no version of TLS in common.
        case tls
        case timedOut
        /// The request cannot be sent as it is.
        case invalidRequest
        /// The connection broke, or what came is not what was agreed.
        case `protocol`
        /// A stream was asked for and refused with this status; the description is the answer's body.
        case status(Int)
    }

    /// Which kind of failure it is.
    package let kind: Kind
    /// One line for people, with the URL.
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    init(code: CURLcode, url: String, detail: String) {
        let text = detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT:
            self.init(.unreachable, "\(url): not reachable: \(text)")
        case CURLE_OPERATION_TIMEDOUT:
            self.init(.timedOut, "\(url): no answer in time: \(text)")
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR:
            self.init(.tls, "\(url): no secure connection: \(text)")
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
            self.init(.invalidRequest, "\(url): not a URL of http or https: \(text)")
        default:
            self.init(.protocol, "\(url): \(text)")
        }
    }
}
