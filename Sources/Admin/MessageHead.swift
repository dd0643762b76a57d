/// What the first lines of a request say of the rest, as far as it can be refused by them.
struct MessageHead {
    let method: String
    /// `Content-Length`; nil when there is none.
    let length: Int?
    /// `Transfer-Encoding`; nil when there is none.
    let encoding: String?
    /// A header that came twice though it may come once only.
    let repeated: String?

    /// Headers that decide where a message ends, whom it is for and who sends it. If one comes twice, two readers may
    /// choose differently, and a proxy's idea of the request is not ours (RFC 9112, section 11.2).
    static let singular = [
        "Content-Length", "Transfer-Encoding", "Host", "Authorization", "Origin", "Content-Type", "Sec-Fetch-Site",
    ]

    /// The answer to a bad one; nil for a good one.
    var refusal: AdminResponse? {
        switch method {
        case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS": break
        default: return AdminResponse(status: 501, code: "not_implemented", message: "this method is not known here")
        }
        if let repeated { return bad("the header \(repeated) comes twice") }
        if encoding != nil && length != nil {
            return bad("a request has Content-Length or Transfer-Encoding, not both")
        }
        if let encoding, encoding.lowercased() != "chunked" { return bad("the only Transfer-Encoding is chunked") }
        return length ?? 0 > Service.maximumBody ? Service.tooLarge : nil
    }

    private func bad(_ message: String) -> AdminResponse {
        AdminResponse(status: 400, code: "bad_request", message: message)
    }
}
