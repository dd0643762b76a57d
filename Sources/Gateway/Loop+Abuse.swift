import HTTP2
import Reactor

// Providers that were cut off: counted, and told now and then.
extension Loop {
    func note(_ abuse: HTTP2Abuse, _ count: Int, of peer: PeerAddress) {
        shared.metrics.abuse(abuse, count)
        guard abuse.endsConnection, let leftOut = abuseLines.admit(at: now) else { return }
        shared.log.info(
            "provider cut off",
            LogField("peer", peer),
            LogField("kind", abuse.rawValue),
            LogField("leftOut", leftOut)
        )
    }
}
