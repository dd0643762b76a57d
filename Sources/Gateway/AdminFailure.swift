/// Why an admin request is refused; the one table of codes and statuses, but for what the port refuses by itself
/// (`Service`, `MessageHead`).
enum AdminFailure: Error {
    case badRequest(String)
    case unauthorized
    case notFound(String)
    case exists(String)
    case forbidden(String)
    /// The request is good; what it is about is not.
    case unusable(String)
    case methodNotAllowed
    case misdirected(String)
    case unsupportedContent(String)
    case unavailable

    var status: Int {
        switch self {
        case .badRequest: 400
        case .unauthorized: 401
        case .forbidden: 403
        case .notFound: 404
        case .methodNotAllowed: 405
        case .exists: 409
        case .unsupportedContent: 415
        case .misdirected: 421
        case .unusable: 422
        case .unavailable: 503
        }
    }

    var code: String {
        switch self {
        case .badRequest: "bad_request"
        case .unauthorized: "unauthorized"
        case .forbidden: "forbidden"
        case .notFound: "not_found"
        case .methodNotAllowed: "method_not_allowed"
        case .exists: "exists"
        case .unusable: "unusable"
        case .unsupportedContent: "unsupported_content"
        case .misdirected: "misdirected"
        case .unavailable: "unavailable"
        }
    }

    var message: String {
        switch self {
        case .badRequest(let text), .notFound(let text), .exists(let text), .forbidden(let text),
            .unusable(let text), .misdirected(let text), .unsupportedContent(let text):
            text
        case .unauthorized: "send the instance's admin token as Authorization: Bearer"
        case .methodNotAllowed: "this path does not take that method"
        case .unavailable: "the gateway or its store did not answer in time; try again"
        }
    }
}

extension StringProtocol {
    /// So much of what a client sent as the message about it repeats: it knows the rest.
    var excerpt: SubSequence { prefix(100) }
}
