import PushCore
import Reactor
import Storage
import TLS

/// The metrics as Prometheus reads them (text format 0.0.4).
struct MetricsPage {
    private(set) var text = ""

    init(_ control: Control) {
        addCounters(control.shared.metrics)
        addGauges(control)
        addStore(control.shared)
        addProcess(control)
    }

    private mutating func addCounters(_ metrics: Metrics) {
        begin(.providerRequests)
        for answer in metrics.answers where answer.count > 0 || answer.status == 200 {
            add(.providerRequests, "status=\"\(answer.status)\",reason=\"\(answer.reason)\"", answer.count)
        }
        histogram(.providerRequestSeconds, metrics.requestSeconds)
        family(.providerTokenVerifications, "result", metrics.verificationCounts)
        histogram(.providerTokenAge, metrics.providerTokenAge)
        family(.providerLints, "lint", metrics.lintCounts)
        family(.providerAbuse, "kind", metrics.abuseCounts)
        family(.notificationsAccepted, "push_type", metrics.acceptedCounts)
        let delivered = [("live", metrics.deliveredLive.value), ("storage", metrics.deliveredFromStorage.value)]
        family(.notificationsDelivered, "from", delivered)
        family(.notificationsDiscarded, "cause", metrics.discardCounts)
        histogram(.deliverySeconds, metrics.deliverySeconds)
        family(.deviceHandshakes, "result", metrics.handshakeCounts)
        single(.handshakesDelayed, metrics.delayedHandshakes.value)
        single(.deviceFaults, metrics.deviceFaults.value)
        single(.deviceRedeliveries, metrics.redeliveries.value)
        family(.connectionsRefused, "cause", metrics.refusalCounts)
        family(.reloads, "result", [("done", metrics.goodReloads.value), ("failed", metrics.failedReloads.value)])
    }

    private mutating func addGauges(_ control: Control) {
        let metrics = control.shared.metrics
        single(.providerConnections, metrics.providerConnections.value)
        single(.notificationsStored, metrics.held.value)
        single(.notificationsStoredOldest, control.oldestHeld.map { (control.now - $0).fractionalSeconds } ?? 0)
        single(.queueLimit, control.shared.config.queueLimit)
        single(.handshakesOpen, metrics.openHandshakes.value)
        single(.deviceSessions, metrics.sessions.value)
        single(.registrations, metrics.registrations.value)
        single(.loopLag, Double(metrics.longestTurnNanoseconds.value) / 1e9)
        begin(.certificateExpires)
        for (name, end) in control.certificates.current.ends {
            add(.certificateExpires, "name=\"\(name)\"", (end - control.now).fractionalSeconds)
        }
        single(.logLinesLost, control.shared.log.lost)
        begin(.buildInfo)
        add(.buildInfo, "version=\"\(Version.text)\"", 1)
    }

    private mutating func addStore(_ shared: LoopShared) {
        let statistics = shared.store.statistics
        let deliveries = shared.deliveries?.statistics
        histogram(.storeCommitSeconds, statistics.commitSeconds)
        histogram(.storeBatchSize, statistics.batchSize)
        single(.storeQueueDepth, statistics.queueDepth)
        single(.storeFailures, statistics.failures)
        single(.storeFailing, statistics.isFailing ? 1 : 0)
        single(.storeReadFailures, shared.metrics.storeReadFailures.value)
        single(.storeLostPushes, shared.metrics.lostPushes.value)
        single(.deliveryLogLost, deliveries?.dropped ?? 0)
        single(.deliveryLogPutAside, deliveries?.putAside ?? 0)
    }

    private mutating func addProcess(_ control: Control) {
        let usage = Machine.usage()
        single(.processResident, usage.residentBytes)
        single(.processDescriptors, usage.openDescriptors)
        single(.processMaximumDescriptors, Machine.openFileLimit().soft)
        single(.processSeconds, usage.cpuSeconds)
        single(.processStart, Double(control.startedAt.milliseconds) / 1000)
    }

    private mutating func begin(_ name: MetricName) {
        text += "# HELP \(name.rawValue) \(name.help)\n# TYPE \(name.rawValue) \(name.kind.rawValue)\n"
    }

    private mutating func add(_ name: MetricName, _ labels: String, _ value: some CustomStringConvertible) {
        text += "\(name.rawValue){\(labels)} \(value)\n"
    }

    private mutating func single(_ name: MetricName, _ value: some CustomStringConvertible) {
        begin(name)
        text += "\(name.rawValue) \(value)\n"
    }

    private mutating func family(_ name: MetricName, _ label: String, _ values: [(String, Int)]) {
        begin(name)
        for (value, count) in values { add(name, "\(label)=\"\(value)\"", count) }
    }

    private mutating func histogram(_ name: MetricName, _ histogram: Histogram) {
        begin(name)
        let cumulative = histogram.cumulative
        let bounds = histogram.bounds.map { "\(Double($0) / histogram.divisor)" } + ["+Inf"]
        buckets(name, zip(bounds, cumulative))
        text += "\(name.rawValue)_sum \(histogram.sum)\n\(name.rawValue)_count \(cumulative.last ?? 0)\n"
    }

    private mutating func histogram(_ name: MetricName, _ histogram: StoreHistogram) {
        begin(name)
        var sum = 0
        let cumulative = histogram.counts.map { count in
            sum += count
            return sum
        }
        buckets(name, zip(histogram.bounds.map { "\($0)" } + ["+Inf"], cumulative))
        text += "\(name.rawValue)_sum \(histogram.sum)\n\(name.rawValue)_count \(histogram.count)\n"
    }

    private mutating func buckets(_ name: MetricName, _ buckets: some Sequence<(String, Int)>) {
        for (bound, count) in buckets { text += "\(name.rawValue)_bucket{le=\"\(bound)\"} \(count)\n" }
    }
}
