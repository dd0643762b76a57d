import PushCore
import Reactor
import Storage
import TLS
import Wire

/// Where the answer to a push goes: the loop, the connection there, and the place of the request in it.
struct ReplyAddress: Sendable {
    let loop: Int
    let connection: UInt64
    let place: Int
}

/// A push whose headers are good, on its way to the home loop of its token.
struct PushOffer: Sendable {
    let token: DeviceToken
    let topic: Topic
    let request: PushRequest
    let apnsID: UUIDText
    let uniqueID: UniqueID
    let content: PushContent
    let reply: ReplyAddress
}

/// What the home loop says about a push.
enum PushAnswer: Sendable {
    case accepted
    case refused(Rejection)
    /// 410: since when the token is dead.
    case gone(Rejection, since: Moment)
}

/// A device connection that has proved its key, on its way to its home loop.
struct ProvenDevice: Sendable {
    let descriptor: Int32
    let tls: ParkedTLSSession
    /// Ciphertext the socket did not take yet.
    let unsent: [UInt8]
    let peer: PeerAddress
    let device: DeviceID
    let nonce: ConnectNonce
    let isAwake: Bool
    let isExtended: Bool
    /// Holds what came after the Connect.
    let decoder: FrameDecoder
}

/// What one thread may tell a loop.
enum LoopMessage: Sendable {
    case push(PushOffer)
    case answer(PushAnswer, ReplyAddress)
    case device(ProvenDevice)
    /// A batch of this loop's changes is durable, or is not.
    case committed(batch: UInt64, StoreError?)
    /// Payloads of waiting pushes have come from the store, or could not be read.
    case loaded(batch: UInt64, Result<[[UInt8]?], StoreError>)
    /// Work of the admin API, which runs between two turns.
    case perform(@Sendable (Loop) -> Void)
    case drain(DrainStep)
    case stop
}

/// The steps of a drain, in order (docs/operations.md, "Drain").
enum DrainStep: Sendable {
    /// No new connections.
    case refuse
    /// A first GOAWAY: open no new streams, please.
    case notice
    /// The last GOAWAY.
    case farewell
    /// Goodbyes to so many devices.
    case dismiss(_ count: Int)
    /// What is unanswered now is told so; everything closes.
    case close
}
