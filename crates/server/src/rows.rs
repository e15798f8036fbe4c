//! Routes as rows, from which both the router and the API document are generated.

#[cfg(test)]
pub(super) mod document_tests;

/// Generates `rows`, a router, and `describe`, which describes the same routes for the document.
/// A row has the purpose of the route, its method and path, the type of the parameter in braces, the types of query and
/// body, the kind of answer, and the handler.
macro_rules! routes {
    ($state:ty;
        $(
            $(#[doc = $about:literal])+
            $method:ident $path:literal
                $(in $parameter:ty,)? $(query $query:ty,)? $(body $body:ty,)? $(raw $raw:literal,)?
                => $answer:ident $(($($type:tt)+))?, $handler:path;
        )+
    ) => {
        fn rows() -> axum::Router<$state> {
            axum::Router::new()$(.route($path, axum::routing::$method($handler)))+
        }

        /// Describes the routes.
        #[cfg(test)]
        pub(super) fn describe(document: &mut super::rows::document_tests::OpenApiDocument) {
            use super::rows::document_tests::ReplyKind;
            $(
                let operation = &mut document.operation(stringify!($method), $path, &[$($about),+]);
                $(operation.parameter::<$parameter>();)?
                $(operation.query::<$query>();)?
                $(operation.body::<$body>();)?
                $(operation.raw($raw);)?
                let reply = routes!(@answer operation $answer $(($($type)+))?);
                operation.answers(reply);
            )+
        }
    };
    (@answer $operation:ident json ($type:ty)) => { ReplyKind::Json($operation.schema_of::<$type>(), &[]) };
    (@answer $operation:ident json_or_text ($type:ty; $($kind:literal),+)) => {
        ReplyKind::Json($operation.schema_of::<$type>(), &[$($kind),+])
    };
    (@answer $operation:ident bytes ($($kind:literal),+)) => { ReplyKind::Bytes(&[$($kind),+]) };
    (@answer $operation:ident nothing) => { ReplyKind::Nothing };
}

pub(super) use routes;
