/// What the connections' threads share: the function that answers, and who is connected.
final class Service: Sendable {
    let connections = ConnectionTable()
    private let respond: @Sendable (AdminRequest) -> AdminResponse

    init(respond: @escaping @Sendable (AdminRequest) -> AdminResponse) { self.respond = respond }

    /// The largest body that is read: any file an operator posts is far smaller.
    static let maximumBody = 1 << 20

    /// The answer to a whole request.
    func answer(_ request: AdminRequest) -> AdminResponse {
        guard request.method != "OPTIONS" else { return Self.options }
        var request = request
        // The body of an answer to HEAD is left out by libmicrohttpd.
        if request.method == "HEAD" { request.method = "GET" }
        return respond(request)
    }

    static let tooLarge = AdminResponse(
        status: 413,
        code: "too_large",
        message: "a body may have \(maximumBody >> 20) MiB"
    )
    static let tooManyFollow = AdminResponse(
        status: 503,
        code: "unavailable",
        message: "\(ConnectionTable.followers) follow the log already"
    )

    // No header of cross-origin sharing: no page of another origin may call this.
    private static var options: AdminResponse {
        var response = AdminResponse(status: 204)
        response.headers = [("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")]
        return response
    }
}
