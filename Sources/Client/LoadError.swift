package import HTTP2
import Reactor

/// Why a load could not go on.
package enum LoadError: Error, CustomStringConvertible {
    /// A connection could not be made or ended.
    case connection(CourierError)
    case http2(HTTP2Error)
    /// The server did what HTTP/2 forbids, or said goodbye.
    case protocolBroken(String)
    /// Not everything that was to be connected was in time.
    case notConnected(String)
    /// The caller wanted no more of it.
    case interrupted

    package var description: String {
        switch self {
        case .connection(let error): error.description
        case .http2(let error): error.description
        case .protocolBroken(let reason), .notConnected(let reason): reason
        case .interrupted: "interrupted"
        }
    }
}

/// Calls a link; its failure becomes the load's.
func linked<Result: ~Copyable>(_ call: () throws(CourierError) -> Result) throws(LoadError) -> Result {
    do { return try call() } catch { throw .connection(error) }
}

/// Calls the HTTP/2 module; its failure becomes the load's.
func http2<Result: ~Copyable>(_ call: () throws(HTTP2Error) -> Result) throws(LoadError) -> Result {
    do { return try call() } catch { throw .http2(error) }
}

/// Calls the system; its failure becomes the load's.
func systemLoad<Result: ~Copyable>(_ call: () throws(SystemError) -> Result) throws(LoadError) -> Result {
    do { return try call() } catch { throw .connection(.system(error.description)) }
}
