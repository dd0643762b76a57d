/// Every metric, its kind and what it says. The page at `/metrics` and docs/operations.md follow this table.
package enum MetricName: String, CaseIterable, Sendable {
    case providerRequests = "carillon_provider_requests_total"
    case providerRequestSeconds = "carillon_provider_request_seconds"
    case providerConnections = "carillon_provider_connections"
    case providerTokenVerifications = "carillon_provider_token_verifications_total"
    case providerTokenAge = "carillon_provider_token_age_seconds"
    case providerLints = "carillon_provider_lints_total"
    case providerAbuse = "carillon_provider_abuse_total"
    case notificationsAccepted = "carillon_notifications_accepted_total"
    case notificationsDelivered = "carillon_notifications_delivered_total"
    case notificationsDiscarded = "carillon_notifications_discarded_total"
    case notificationsStored = "carillon_notifications_stored"
    case notificationsStoredOldest = "carillon_notifications_stored_oldest_seconds"
    case queueLimit = "carillon_queue_limit"
    case deliverySeconds = "carillon_delivery_seconds"
    case deviceSessions = "carillon_device_sessions"
    case deviceHandshakes = "carillon_device_handshakes_total"
    case handshakesDelayed = "carillon_handshakes_delayed_total"
    case deviceFaults = "carillon_device_faults_total"
    case handshakesOpen = "carillon_handshakes_open"
    case deviceRedeliveries = "carillon_device_redeliveries_total"
    case registrations = "carillon_registrations"
    case connectionsRefused = "carillon_connections_refused_total"
    case storeCommitSeconds = "carillon_store_commit_seconds"
    case storeBatchSize = "carillon_store_batch_size"
    case storeQueueDepth = "carillon_store_queue_depth"
    case storeFailures = "carillon_store_failures_total"
    case storeFailing = "carillon_store_failing"
    case storeReadFailures = "carillon_store_read_failures_total"
    case storeLostPushes = "carillon_store_lost_pushes_total"
    case deliveryLogLost = "carillon_delivery_log_lost_total"
    case deliveryLogPutAside = "carillon_delivery_log_put_aside_total"
    case loopLag = "carillon_loop_lag_seconds"
    case certificateExpires = "carillon_certificate_expires_in_seconds"
    case reloads = "carillon_reloads_total"
    case logLinesLost = "carillon_log_lines_lost_total"
    case buildInfo = "carillon_build_info"
    case processResident = "process_resident_memory_bytes"
    case processDescriptors = "process_open_fds"
    case processMaximumDescriptors = "process_max_fds"
    case processSeconds = "process_cpu_seconds_total"
    case processStart = "process_start_time_seconds"

    /// The types of Prometheus that we use.
    package enum Kind: String, Sendable {
        case counter
        case gauge
        case histogram
    }

    /// What `# TYPE` says.
    package var kind: Kind {
        switch self {
        case .providerRequests, .providerTokenVerifications, .providerLints, .providerAbuse, .deviceFaults,
            .notificationsAccepted, .notificationsDelivered, .notificationsDiscarded, .deviceHandshakes,
            .handshakesDelayed, .deviceRedeliveries, .storeFailures, .processSeconds, .connectionsRefused,
            .storeReadFailures, .storeLostPushes, .deliveryLogLost, .deliveryLogPutAside, .reloads, .logLinesLost:
            .counter
        case .providerRequestSeconds, .providerTokenAge, .deliverySeconds, .storeCommitSeconds, .storeBatchSize:
            .histogram
        case .providerConnections, .handshakesOpen, .notificationsStored, .notificationsStoredOldest, .queueLimit,
            .deviceSessions, .registrations, .storeQueueDepth, .storeFailing, .loopLag, .certificateExpires, .buildInfo,
            .processResident, .processDescriptors, .processMaximumDescriptors, .processStart:
            .gauge
        }
    }

    /// What `# HELP` says, and docs/operations.md.
    package var help: String {
        switch self {
        case .providerRequests: "Answers to providers by HTTP status and reason; the reason is empty for 200."
        case .providerRequestSeconds: "From a request's last byte to its answer."
        case .providerConnections: "Open provider connections."
        case .providerTokenVerifications: "Provider tokens checked, by result; cached ones are not checked again."
        case .providerTokenAge: "Age of a provider token when first seen; below 0 its clock is ahead."
        case .providerLints: "What is odd about providers' requests, by lint."
        case .providerAbuse: "Streams and connections of providers that were cut off, by kind of abuse."
        case .notificationsAccepted: "Pushes answered 200, by push type (none when the provider did not say)."
        case .notificationsDelivered: "Pushes a device acknowledged, live or from storage."
        case .notificationsDiscarded: "Pushes that will not be delivered, by cause."
        case .notificationsStored: "Pushes accepted and neither acknowledged nor discarded."
        case .notificationsStoredOldest: "Age of the oldest of them."
        case .queueLimit: "The setting queue.limit."
        case .deliverySeconds: "From acceptance to acknowledgement, pushes to live sessions only."
        case .deviceSessions: "Devices connected and authenticated."
        case .deviceHandshakes: "Device connections by how far they came."
        case .handshakesDelayed: "Turns of an event loop that left handshakes for the next, so that pushes go first."
        case .deviceFaults: "Sessions ended because the device broke the protocol."
        case .handshakesOpen: "TLS handshakes in progress, of devices and providers."
        case .deviceRedeliveries: "Pushes sent again on a session because no acknowledgement came."
        case .registrations: "Active registrations."
        case .connectionsRefused: "Connections closed before their TLS, by cause."
        case .storeCommitSeconds: "How long a transaction of the store takes."
        case .storeBatchSize: "Changes per transaction of the store."
        case .storeQueueDepth: "Changes waiting for the store."
        case .storeFailures: "Transactions of the store that failed."
        case .storeFailing: "1 while the store cannot write, else 0."
        case .storeReadFailures: "Reads of waiting payloads that failed; they are tried again."
        case .storeLostPushes: "Waiting pushes whose row was gone or damaged when they were to be sent."
        case .deliveryLogLost: "Events that the delivery log lacks: too many waited, or it could not be written."
        case .deliveryLogPutAside: "Delivery logs that were damaged, put aside and begun anew."
        case .loopLag: "The longest turn of an event loop in the last ten seconds."
        case .certificateExpires: "Time until a certificate ends, by name."
        case .reloads: "Reloads of settings and files; a failed one changed nothing."
        case .logLinesLost: "Log lines that were not written: too many came, or they were not read."
        case .buildInfo: "1, with the version as a label."
        case .processResident: "Resident memory of the process."
        case .processDescriptors: "Open file descriptors."
        case .processMaximumDescriptors: "The limit of open file descriptors."
        case .processSeconds: "User and system CPU time of the process."
        case .processStart: "When the process started, in Unix seconds."
        }
    }
}
