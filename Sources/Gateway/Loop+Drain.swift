import HTTP2
import PushCore
import Wire

// The end of a loop's life, step by step (docs/operations.md, "Drain").
extension Loop {
    func drain(_ step: DrainStep) {
        switch step {
        case .refuse:
            isRefusing = true
        case .notice:
            eachProvider { $0.http.goAway(lastStream: nil, code: .noError, reason: Rejection.shutdown.body()) }
        case .farewell:
            eachProvider { connection in
                connection.isLeaving = true
                let last = connection.http.lastStream
                connection.http.goAway(lastStream: last, code: .noError, reason: Rejection.shutdown.body())
            }
            farewells = []
            for (token, connection) in connections.all {
                switch connection {
                case .pending: close(token)
                case .device: farewells.append(token)
                case .provider: break
                }
            }
        case .dismiss(let count):
            for token in farewells.suffix(count) {
                if case .device(let device) = connections[token] { sayGoodbye(device) }
            }
            farewells.removeLast(min(count, farewells.count))
        case .close:
            isClosing = true
            home.refuseUnanswered(at: now)
            carryOutEffects()
            eachProvider { connection in
                for (request, _) in connection.refused { refuse(request, .shutdown, connection) }
                connection.refused = []
                connection.http.takeIncomplete(into: &requests)
                for request in requests { refuse(request, .shutdown, connection) }
                requests.removeAll(keepingCapacity: true)
                for place in connection.places() {
                    let address = ReplyAddress(loop: index, connection: connection.token, place: place)
                    deliver(.refused(.shutdown), to: address)
                }
            }
            flushDirty()
            for (token, connection) in connections.all {
                switch connection {
                case .provider(let provider): leave(provider.stream, token)
                case .device(let device): sayGoodbye(device)
                case .pending: close(token)
                }
            }
            farewells = []
        }
        flushDirty()
        flushDevices()
    }

    /// Requests that wait for an answer or are not complete.
    var openStreams: Int {
        connections.all.reduce(0) { sum, entry in
            guard case .provider(let provider) = entry.connection else { return sum }
            return sum + provider.http.openStreams
        }
    }

    /// Takes connections again, when a drain without an exit is called off.
    func endDrain() {
        isRefusing = false
        isClosing = false
        farewells = []
        resumeListeners()
    }

    private func eachProvider(_ work: (ProviderConnection) -> Void) {
        for (_, connection) in connections.all {
            guard case .provider(let provider) = connection, !provider.stream.isEnding else { continue }
            work(provider)
            markDirty(provider)
        }
    }

    private func sayGoodbye(_ connection: DeviceConnection) {
        if connection.isExtended, case .session = connection.phase {
            // So that they do not all come back at once.
            let retry = UInt32(random.next() % UInt64(Limits.returnSpread.milliseconds / 1000)) + 1
            connection.say(.goodbye(reason: "Shutdown", retrySeconds: retry, host: nil), at: now)
        }
        end(connection)
    }
}
