/// The first byte of a frame. Published commands stop at 32; 200 and above are Carillon's own, for extended clients.
enum Command: UInt8 {
    case connect = 7
    case connectAck = 8
    case filter = 9
    case notify = 10
    case notifyAck = 11
    case keepAlive = 12
    case keepAliveAck = 13
    case noStorage = 14
    case tokenRequest = 17
    case tokenAck = 18
    case setState = 20
    case subscribe = 29
    case goodbye = 200
    case unregister = 201
    case unregisterAck = 202
    case tokenGone = 203
}

/// Items that mean the same in every extended frame.
enum ExtendedItem {
    static let topicName: UInt8 = 210
    static let reason: UInt8 = 211
    static let retrySeconds: UInt8 = 212
    static let uniqueID: UInt8 = 213
    static let collapseID: UInt8 = 214
    static let pushType: UInt8 = 215
    static let host: UInt8 = 216
}
