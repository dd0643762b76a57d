/// The bounds that are not settings, each with its reason.
package enum Limits {
    /// Bytes of a payload (Generating a remote notification).
    package static let payload = 4096
    /// Bytes of a VoIP payload (Generating a remote notification).
    package static let voipPayload = 5120
    /// Bytes of `apns-collapse-id` (Sending notification requests to APNs).
    package static let collapseID = 64
    /// Bytes of a topic: Apple's bundle ids have at most 155 characters, suffixes under 30; 255 leaves room.
    package static let topic = 255
    /// Bytes of a bundle id: a topic has room for any suffix behind it.
    package static let bundle = topic - 40
    /// Age of a provider token, and how far ahead its clock may be (Establishing a token-based connection to APNs).
    package static let providerTokenAge = Interval.seconds(3600)
    /// The span over which distinct provider tokens are counted (same page: not more than once every 20 minutes).
    package static let providerTokenUpdateSpan = Interval.seconds(20 * 60)
    /// Bytes of an authorization header that may be a token: a JWT of ES256 is about 200, this is generous.
    package static let authorization = 4096
    /// Verified provider tokens remembered per loop: each provider process uses one or two an hour.
    package static let rememberedProviderTokens = 1024
    /// Times an unacknowledged push is sent again on one session before the session is closed.
    package static let resends = 3
    /// Sessions whose resends a push may use up before it is discarded.
    package static let exhaustedSessions = 3
    /// Unsent bytes per device session; frames are made only while there is room.
    package static let unsentBytes = 64 * 1024
    /// Bytes a notification frame adds to its payload: items, tokens, topic name and ids, rounded up.
    package static let frameOverhead = 640
    /// From accepting a connection to the end of its handshake and, for devices, its Connect.
    package static let handshake = Interval.seconds(10)
    /// How long a device may resume its TLS session: a night without network, and short enough that a lost ticket ends.
    package static let ticketLife = Interval.seconds(12 * 3600)
    /// Bytes of a device's frame before it has proved who it is: a certificate and a signature need a few thousand.
    package static let frameBeforeConnect = 16 * 1024
    /// Bytes of a device's frame after that: the longest Filter needs a third of it.
    package static let frame = 256 * 1024
    /// How often a loop tells the same oddity of providers: with each request it would fill the log.
    package static let lintLogInterval = Interval.seconds(60)
    /// Sessions of a device that end by a fault within `deviceFaultSpan` before it is refused for `quarantine`: a bad
    /// network breaks no frames, so that the third is no accident, and two more may come of a restart.
    package static let deviceFaults = 5
    /// How long a fault counts.
    package static let deviceFaultSpan = Interval.seconds(5 * 60)
    /// How long a faulty device is refused: it tries again less often than an honest one, and is back the same hour.
    package static let quarantine = Interval.seconds(5 * 60)
    /// Faulty devices remembered per loop, at about 100 bytes each.
    package static let faultyDevices = 10_000
    /// How far a device's clock may be off in its Connect.
    package static let nonceTolerance = Interval.seconds(5 * 60)
    /// Connects remembered per device inside twice the tolerance; past it the oldest is forgotten, and what is not
    /// younger than the rest is refused. An honest device's are, unless so many overtake each other on their way.
    package static let rememberedNonces = 128
    /// How long nothing follows an acknowledgement that a plain client waits for, so that nothing shares its read at
    /// the device (docs/decisions/0006-order-and-pauses.md).
    package static let pauseAfterAck = Interval.milliseconds(30)
    /// How long a push for a live device waits for its acknowledgement before it is written: long enough that most
    /// need no write, short beside the delay a provider notices.
    package static let writeDelay = Interval.milliseconds(50)
    /// Characters of the admin token: fewer could be guessed, none would let everyone in.
    package static let adminTokenMinimum = 16
    /// Answers to a device that may wait for a pause to end; until they are fewer its next command waits.
    package static let heldAnswers = 8
    /// Bytes of a device's commands that may wait for the store or a pause; past it its socket is not read.
    package static let waitingCommands = 64 * 1024
    /// Steps of handshakes that a loop takes in a turn, a third of a millisecond each; the others wait for the next
    /// turn, so that pushes keep flowing while a thousand devices come back.
    package static let handshakesPerTurn = 4
    /// Connections of one door and loop that have said nothing since they came or since TLS, or that wait for their
    /// handshake, at some hundred bytes each before TLS; more wait in the kernel, or the oldest silent one makes way.
    package static let waitingAtDoor = 1024
    /// Silent ones of them from one address or IPv6 network: a quarter, so that one address cannot fill the door.
    package static let silentPerAddress = 256
    /// How long one may be silent before it makes way: who has something to say does so within a round trip.
    package static let silence = Interval.seconds(1)
    /// How often a loop may ask the others to make room when there are as many connections as may be: each does so for
    /// one, and there may be hundreds of loops and thousands who come.
    package static let appealInterval = Interval.milliseconds(100)
    /// How long a handshake of the network that has most places may take while another network waits for one: twice
    /// what a lost packet costs.
    package static let handshakeTurn = Interval.seconds(2)
    /// How long a handshake may stand still while others wait for its place: longer than two lost packets take.
    package static let stalledHandshake = Interval.seconds(5)
    /// The span over which the failed connections of an address are counted (`limits.failuresPerAddress`).
    package static let failureSpan = Interval.seconds(60)
    /// How long an address that reached the limit is dropped: a handshake a minute costs nothing, and who has repaired
    /// his clients waits no longer.
    package static let penalty = Interval.seconds(60)
    /// Between two connections of a dropped address that are tried nevertheless: someone behind it may be honest.
    package static let probation = Interval.seconds(5)
    /// How long an address is not dropped after the last of its connections that was in: a device that lost its network
    /// is back by then.
    package static let welcome = Interval.seconds(10 * 60)
    /// Addresses whose failures are remembered, of 100 bytes each, and those whose last connection has left; past it
    /// the older half is forgotten.
    package static let rememberedFailures = 10_000
    /// A step of the clock that is told: pushes expire by it.
    package static let clockJump = Interval.seconds(60)
    /// A step back that delays nothing that anyone would notice.
    package static let clockNoise = Interval.milliseconds(10)
    /// Silence of a provider after which the kernel asks whether it is still there, and how: it is found gone within
    /// two minutes.
    package static let providerPatience = (idle: 60, interval: 20, probes: 3)
    /// The same for devices, whose radio each question wakes: only those that have announced a long keepalive, or whose
    /// `device.idleTimeout` is long, come to it.
    package static let devicePatience = (idle: 600, interval: 30, probes: 4)
    /// How often a loop may complain about what its balancer sends: strangers can make it wrong as often as they like.
    package static let proxyLogInterval = Interval.seconds(10)
    /// Connections that a loop takes from one listener in a turn: the open ones wait meanwhile.
    package static let acceptsPerTurn = 64
    /// Between two lines of a loop about providers that were cut off: who abuses us must not fill the log as well.
    package static let abuseLogInterval = Interval.seconds(10)
    /// Reads of one connection in a turn, 64 KiB each, so that one sender does not keep the others waiting.
    package static let readsPerTurn = 8
    /// Bytes of a provider that are read as HTTP/2 before the requests in them are handled: a dozen usual pushes, so
    /// that what they take up in memory is given to the next ones while the processor has it in its nearest cache.
    package static let requestPiece = 16 * 1024
    /// Requests in a turn from which on a loop counts as loaded: such a turn takes a third of a millisecond or more.
    package static let gatherAbove = 24
    /// Turns that what devices are told waits under load. With 200 devices and 1000 requests in flight (scripts/bench)
    /// five bring a third fewer writes than one, and no answer comes later for it: the loop has less to do.
    package static let gatherTurns = 5
    /// Empty lists of notifications a loop keeps for the sessions of its next turns; what is above it is freed.
    package static let spareBuffers = 256
    /// Objects and memory of ended pushes that a loop keeps for later ones: as many as some connections have in flight,
    /// of 5 KiB at most each.
    package static let sparePushes = 1024
    /// How long a loop looks for events before it sleeps, if that has paid lately: an answer from the same machine or
    /// its neighbour comes within it, and to be woken takes half of it.
    package static let lookBeforeSleep = Interval(nanoseconds: 50_000)
    /// How long a loop sleeps at most, so that a clock that is set strands nothing.
    package static let sleepMilliseconds: Int64 = 1000
    /// How often a loop looks for what has expired in its queues; until then it only takes memory.
    package static let sweepInterval = Interval.seconds(10)
    /// Waiting pushes that are looked at in a turn meanwhile, at 30 ns each: a million at once would hold up the loop
    /// for as long as a thousand deliveries take.
    package static let sweptPerTurn = 2_000
    /// Payloads read between two transactions, at some microseconds each, so that a thousand devices that come back do
    /// not hold up what is to become durable.
    package static let payloadsPerRead = 500
    /// How long the payload of a push that waits for an absent device stays in memory: most devices that come back do
    /// so within a minute, and the memory of a million payloads is 1.4 GB.
    package static let payloadYouth = Interval.seconds(60)
    /// Lines of information and warnings that are logged in a second: a stranger's failures are among them, and a few
    /// hundred a second tell as much as all.
    package static let logLinesPerSecond = 200
    /// How often a drain looks how far it has come.
    package static let drainTick = Interval.milliseconds(20)
    /// How long a drain waits for requests that are under way before it says that it ends: most are answered within a
    /// commit, and a provider that always has some under way never stops by itself.
    package static let drainQuiet = Interval.seconds(1)
    /// Between the GOAWAY that announces the end and the one that names the last stream: what was sent before the first
    /// was read must have come, and a round trip within a continent takes less.
    package static let drainNotice = Interval.milliseconds(100)
    /// How long the last answers have to leave the sockets.
    package static let drainLastBytes = Interval.seconds(1)
    /// How long a drain waits for a loop to say what it still has; one that is stuck is asked again.
    package static let drainAnswer = Interval.milliseconds(100)
    /// How long the store may take to write what waits, after a drain that ends without an exit.
    package static let drainFlush = Interval.seconds(2)
    /// Devices that each loop sends away in a tick of a drain: 5,000 a second come back elsewhere, and the loop still
    /// answers between them.
    package static let farewellsPerTick = 100
    /// The time over which devices that understand it are asked to spread their return after a drain.
    package static let returnSpread = Interval.seconds(30)
    /// How long a peer may take to close after our FIN.
    package static let farewell = Interval.seconds(5)
    /// Topics one device may register.
    package static let registrationsPerDevice = 1000
    /// Hashes one Filter may name; a Mac lists over 200.
    package static let filterTopics = 4096
    /// How long a revoked token is remembered: a provider that pushes to it meanwhile learns that it is dead.
    package static let revokedMemory = Interval.days(365)
    /// Revoked tokens remembered, over all loops; past it the oldest is forgotten.
    package static let revokedCount = 1_000_000
    /// Accepted device certificates that a loop remembers, about 120 bytes each: to parse and verify one costs more
    /// than the signature. Past it all are forgotten at once.
    package static let rememberedCertificates = 100_000
    /// Bytes of a device's name: a line of a list. The certificate's subject allows 64 characters of it.
    package static let deviceName = 100
    /// Topics a provider key may list: those of forty apps. A key for more is one for the whole team.
    package static let keyTopics = 400
    /// Items of a page of an admin list that does not say how many.
    package static let pageItems = 100
    /// Items of a page at most: it is one array in memory, and one answer.
    package static let largestPage = 1000
    /// How long an admin request waits for a loop or the store before it is told to try again.
    package static let adminPatience = Interval.seconds(10)
}
