/// One request to the admin port, whole.
package struct AdminRequest: Sendable {
    /// In capitals; a HEAD comes as GET.
    package var method: String
    /// What the request line asks for.
    package var target: RequestTarget
    /// The header of that name; nil without one.
    package var authorization: SecretBytes?
    /// The server's name as the client knows it: the header `Host`.
    package var host: String?
    /// The page that makes a browser send this: the header `Origin`.
    package var origin: String?
    /// What a browser says of that page: the header `Sec-Fetch-Site`.
    package var fetchSite: String?
    /// What the body is said to be.
    package var contentType: String?
    /// The whole body; empty when there is none.
    package var body: [UInt8]
    /// Whether the request comes from this machine, so that nobody on the way could read or change it.
    package var peerIsLoopback = true

    /// A request as if from this machine, without headers. `target` is what stands in the request line, escaped.
    package init(method: String, target: String, body: [UInt8] = []) {
        self.method = method
        self.target = RequestTarget(target)
        self.body = body
    }

    /// The path with its escapes undone, without the query.
    package var path: String { target.path }

    /// The query's fields with their escapes undone.
    package var query: [String: String] { target.query }
}
