import Reactor

/// A reload that the admin API asks for. Whoever runs the gateway reads the files, so that there is one way to reload,
/// whether a signal or a request asked for it.
package struct ReloadRequest: Sendable {
    private let reply = Reply<String?>()

    /// Says how it went: nil, or what is wrong with the new files.
    package func answer(_ mistake: String?) { reply.set(mistake) }

    /// How it went; nil if nobody answered in time.
    func wait(milliseconds: Int) -> String?? { reply.wait(milliseconds: milliseconds) }
}
