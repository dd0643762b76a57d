import Admin
import JSON
import PushCore
import Reactor
import Storage

/// `/v1/status`.
struct StatusRoutes {
    private let control: Control

    init(_ control: Control) { self.control = control }

    var status: AdminResponse {
        let metrics = control.shared.metrics
        let now = control.now
        let rates = control.rates.current(at: Clock.monotonic())
        let oldest = control.oldestHeld
        let body = json { writer in
            writer.field("version", Version.text)
            writer.field("environment", control.shared.config.environment.rawValue)
            writer.field("startedAt", timestamp(control.startedAt))
            writer.field("draining", control.isDraining.value == 1)
            writer.field("sessions", metrics.sessions.value)
            writer.field("queued", metrics.held.value)
            writer.field("queuedOldestSeconds", oldest.map { (now - $0).fractionalSeconds })
            writer.field("acceptedPerSecond", rates.accepted)
            writer.field("deliveredPerSecond", rates.delivered)
            writer.field("deliverySecondsP50", metrics.deliverySeconds.quantile(0.5))
            writer.field("deliverySecondsP99", metrics.deliverySeconds.quantile(0.99))
            writer.field("storeLagSeconds", control.shared.store.statistics.lagSeconds)
            let ends = control.certificates.current.ends
            writer.field("certificateSecondsLeft", (ends[0].end - now).fractionalSeconds)
            writer.field("authoritySecondsLeft", (ends[1].end - now).fractionalSeconds)
        }
        return AdminResponse(status: 200, body: body)
    }
}
