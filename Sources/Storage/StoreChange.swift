package import PushCore

/// One thing to make durable.
package enum StoreChange: Sendable {
    /// A push was accepted. One that is tried only once (`isOnce`) never comes here.
    case append(Push)
    /// The push with this number is over: acknowledged, collapsed, expired, revoked.
    case discard(UInt64)
    /// A registration is new or has changed.
    case save(Registration)
    /// The registration with this number need not be remembered any longer.
    case forget(registration: UInt64)
    case saveDevice(Device)
    case saveApp(App)
    case removeApp(bundle: String)
    case saveKey(ProviderKey)
}
