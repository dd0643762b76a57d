/// The bounds of one connection. What happens past each is said beside it.
package struct HTTP2Limits: Sendable {
    /// Names, values and 32 for each field (RFC 9113 6.5.2), as announced. Past it the stream is reset with
    /// ENHANCE_YOUR_CALM; its neighbours live. Apple announces 8000.
    package var headerListBytes = 8000
    /// The same, from which on the connection ends: fields of one byte that the peer's table unpacks to 4000 would keep
    /// the loop busy. Headers that are sent as they are do not come so far in `continuations` frames.
    package var headerBombBytes = 256 * 1024
    /// Bytes of a body that are kept: the largest payload there is. The rest is counted and dropped.
    package var bodyBytes = 5120
    /// Kept body bytes of a connection. Past it the peer waits, because they are its receive window.
    package var bufferedBodyBytes = 1 << 20
    /// MAX_CONCURRENT_STREAMS as announced at first: 1 until a token was verified.
    package var announcedStreams: Int
    /// Streams that may really be open. Past it a stream is refused with REFUSED_STREAM, which is safe to retry.
    package var enforcedStreams = 1000
    /// CONTINUATION frames of one header block; 8000 bytes need none. Past it the connection ends.
    package var continuations = 5
    /// Requests given up unanswered, less those answered, as in rapid reset. Past it the connection ends.
    package var abandonedStreams = 500
    /// The age, in nanoseconds of the owner's clock, from which on a request that is given up does not count: its
    /// client has waited in vain. With 1000 streams a second a peer gets no further than if it took the answers.
    package var abandonmentAgeNanoseconds: Int64 = 1_000_000_000
    /// Refused streams, less answers. Past it the peer takes no hint and the connection ends.
    package var refusedStreams = 10_000
    /// What a peer may owe for frames and requests that bring nothing (see `Patience`). Past it the connection ends.
    /// 20,000 PINGs take us a few hundredths of a second, and ten thousand broken requests are a client with a fault.
    package var patience = 20_000
    /// Given back per second: a keepalive PING takes one a minute.
    package var patiencePerSecond = 100
    /// Given back per answer: a window update for it, one for the connection, and a PING or two.
    package var patiencePerAnswer = 4

    /// Rooms for a request's bytes that a connection keeps for its next requests, of 8 KiB at most each; past it they
    /// are freed. A read of 64 KiB brings about 50 usual pushes before the first gives its room back.
    package var spareRooms = 100

    package init(announcedStreams: Int = 1) {
        self.announcedStreams = announcedStreams
    }
}
