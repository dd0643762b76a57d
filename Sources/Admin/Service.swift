/// What the connections' threads share: the function that answers. Immutable.
final class Service: Sendable {
    private let respond: @Sendable (AdminRequest) -> AdminResponse

    init(respond: @escaping @Sendable (AdminRequest) -> AdminResponse) { self.respond = respond }

    /// The largest body that is read: any file an operator posts is far smaller.
    static let maximumBody = 1 << 20

    /// What can be refused before the body is read; nil for a good request.
    func refusal(method: String, declaredLength: Int) -> AdminResponse? {
        switch method {
        case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
            declaredLength > Self.maximumBody ? Self.tooLarge : nil
        default:
            AdminResponse(status: 501, code: "NotImplemented", message: "this method is not known here")
        }
    }

    /// The answer to a whole request.
    func answer(_ request: AdminRequest) -> AdminResponse {
        guard request.method != "OPTIONS" else { return Self.options }
        var request = request
        // The body of an answer to HEAD is left out by libmicrohttpd.
        if request.method == "HEAD" { request.method = "GET" }
        return respond(request)
    }

    static let tooLarge = AdminResponse(status: 413, code: "TooLarge", message: "a body may have 1 MiB")

    // No header of cross-origin sharing: no page of another origin may call this.
    private static var options: AdminResponse {
        var response = AdminResponse(status: 204)
        response.headers = [("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")]
        return response
    }
}
