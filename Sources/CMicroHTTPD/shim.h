#include <microhttpd.h>

/// The functions libmicrohttpd calls, all with the same context.
struct CMicroHTTPD_callbacks {
    void *(*begin)(void *context, const char *uri, struct MHD_Connection *connection);
    MHD_AccessHandlerCallback receive;
    MHD_RequestCompletedCallback end;
    MHD_NotifyConnectionCallback connect;
    void *context;
};

/// `MHD_start_daemon` is variadic.
static inline struct MHD_Daemon *CMicroHTTPD_start(unsigned flags, const struct CMicroHTTPD_callbacks *callbacks,
                                                   const struct MHD_OptionItem *options) {
    return MHD_start_daemon(flags, 0, NULL, NULL, callbacks->receive, callbacks->context,
                            MHD_OPTION_URI_LOG_CALLBACK, callbacks->begin, callbacks->context,
                            MHD_OPTION_NOTIFY_COMPLETED, callbacks->end, callbacks->context,
                            MHD_OPTION_NOTIFY_CONNECTION, callbacks->connect, callbacks->context,
                            MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

/// `MHD_get_connection_info` is variadic.
static inline const struct sockaddr *CMicroHTTPD_peer(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? info->client_addr : NULL;
}

/// The same.
static inline int CMicroHTTPD_descriptor(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/// A macro with a cast, which Swift does not import.
static inline ssize_t CMicroHTTPD_endOfStream(void) { return MHD_CONTENT_READER_END_OF_STREAM; }
