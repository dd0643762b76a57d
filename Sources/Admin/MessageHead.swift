/// What the first lines of a request say of the rest, as far as it can be refused by them.
struct MessageHead {
    let method: String
    /// `Content-Length`; nil when there is none.
    let length: Int?
    /// `Transfer-Encoding`; nil when there is none.
    let encoding: String?
    let fields: HeaderFields

    /// The answer to a bad one; nil for a good one.
    var refusal: AdminResponse? {
        switch method {
        case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS": break
        default: return AdminResponse(status: 501, code: "not_implemented", message: "this method is not known here")
        }
        if fields.isMalformed {
            return bad("a header has a name that is no token, as with a space, or a control character in its value")
        }
        if let repeated = fields.repeated { return bad("the header \(repeated) comes twice") }
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
